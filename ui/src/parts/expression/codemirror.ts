import { autocompletion, completionKeymap, type CompletionContext } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { HighlightStyle, StreamLanguage, syntaxHighlighting, bracketMatching } from '@codemirror/language'
import { lintKeymap, setDiagnostics, type Diagnostic } from '@codemirror/lint'
import { EditorState } from '@codemirror/state'
import { EditorView, keymap } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import type { Found } from './check.ts'
import type { Named } from './fields.ts'

export interface EditorHandle {
  /** Replaces the text, unless it is the same. */
  readonly show: (text: string) => void
  /** Marks errors at their places. */
  readonly mark: (found: readonly Found[]) => void
  readonly close: () => void
}

interface EditorOptions {
  readonly value: string
  readonly label: string
  /** Names that the editor completes, now. */
  readonly names: () => readonly Named[]
  readonly lists: () => readonly string[]
  readonly changed: (text: string) => void
}

const WORD = /\$?[a-z_][\w.]*|\$/i
const OPERATORS = new Set('and or not xor eq ne lt le gt ge in contains matches wildcard strict true false'.split(' '))

const language = StreamLanguage.define({
  token(stream) {
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return 'string'
    if (stream.match(/^\d[\d./:a-f]*/)) return 'number'
    if (stream.match(/^\$[\w.]+/)) return 'atom'
    const word = stream.match(/^[a-z_][\w.]*/i) as RegExpMatchArray | null
    if (word) return OPERATORS.has(word[0].toLowerCase()) ? 'keyword' : 'variableName'
    stream.next()
    return null
  },
})

const highlighting = HighlightStyle.define([
  { tag: tags.keyword, color: 'var(--accent)', fontWeight: '600' },
  { tag: tags.string, color: 'var(--ok)' },
  { tag: tags.number, color: 'var(--ok)' },
  { tag: tags.atom, color: 'var(--warn)' },
])

const theme = EditorView.theme({
  '&': {
    color: 'var(--text)',
    backgroundColor: 'var(--panel)',
    minHeight: '72px',
    border: '1px solid var(--control)',
    borderRadius: '4px',
    fontSize: '12px',
  },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '2px' },
  '.cm-content': { fontFamily: 'var(--mono)', caretColor: 'var(--text)' },
  '.cm-tooltip': { color: 'var(--text)', backgroundColor: 'var(--raised)', border: '1px solid var(--line)' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { color: 'var(--on-accent)', backgroundColor: 'var(--accent)' },
})

/**
 * Opens an editor. It lives in a shadow root, where its styles are style sheet objects: the policy of the page allows no
 * style elements.
 */
export function openEditor(place: HTMLElement, options: EditorOptions): EditorHandle {
  const root = place.shadowRoot ?? place.attachShadow({ mode: 'open' })
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: options.value,
      extensions: [
        history(),
        bracketMatching(),
        language,
        syntaxHighlighting(highlighting),
        theme,
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ 'aria-label': options.label, spellcheck: 'false' }),
        autocompletion({ override: [(context) => completions(context, options)] }),
        keymap.of([...completionKeymap, ...historyKeymap, ...lintKeymap, ...defaultKeymap]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) options.changed(update.state.doc.toString())
        }),
      ],
    }),
  })
  return {
    show: (text) => {
      const old = view.state.doc.toString()
      if (old !== text) view.dispatch({ changes: { from: 0, to: old.length, insert: text } })
    },
    mark: (found) => {
      const { length } = view.state.doc
      const marks = found.map(({ from, to, message }): Diagnostic => ({
        from: Math.min(from, length),
        to: Math.min(to, length),
        severity: 'error',
        message,
      }))
      view.dispatch(setDiagnostics(view.state, marks))
    },
    close: () => view.destroy(),
  }
}

function completions(context: CompletionContext, { names, lists }: EditorOptions) {
  const word = context.matchBefore(WORD)
  if (!word && !context.explicit) return null
  const named = names().map(({ name, type, kind, description }) => ({
    label: name,
    detail: type,
    type: kind === 'function' ? 'function' : 'variable',
    ...(description !== '' && { info: description }),
    ...(kind === 'function' && { apply: `${name}(` }),
  }))
  const listed = lists().map((name) => ({ label: `$${name}`, detail: 'list', type: 'constant' }))
  return { from: word?.from ?? context.pos, options: [...named, ...listed], validFor: /^\$?[\w.]*$/ }
}
