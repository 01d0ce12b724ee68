import { autocompletion, completionKeymap, type CompletionContext } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { HighlightStyle, StreamLanguage, syntaxHighlighting, bracketMatching } from '@codemirror/language'
import { linter, lintKeymap, type Diagnostic } from '@codemirror/lint'
import { EditorState } from '@codemirror/state'
import { EditorView, keymap } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import type { Checked, Named } from './expressions.ts'

export interface EditorHandle {
  close(): void
}

export interface EditorOptions {
  readonly value: string
  readonly label: string
  readonly names: () => Promise<readonly Named[]>
  readonly check: (expression: string) => Promise<Checked>
  readonly changed: (text: string) => void
}

const WORD = /[a-z_][\w.]*/i
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
  { tag: tags.string, color: 'var(--good)' },
  { tag: tags.number, color: 'var(--good)' },
  { tag: tags.atom, color: 'var(--bad)' },
])

const theme = EditorView.theme({
  '&': { color: 'var(--text)', backgroundColor: 'var(--back)', minHeight: '4.5rem' },
  '.cm-content': { fontFamily: 'ui-monospace, monospace', caretColor: 'var(--text)' },
  '.cm-tooltip': { color: 'var(--text)', backgroundColor: 'var(--panel)', border: '1px solid var(--line)' },
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
        autocompletion({ override: [async (context) => await completions(context, options.names)] }),
        linter(async ({ state }) => await problems(state.doc.toString(), options.check), { delay: 300 }),
        keymap.of([...completionKeymap, ...historyKeymap, ...lintKeymap, ...defaultKeymap]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) options.changed(update.state.doc.toString())
        }),
      ],
    }),
  })
  return { close: () => view.destroy() }
}

async function completions(context: CompletionContext, names: EditorOptions['names']) {
  const word = context.matchBefore(WORD)
  if (!word && !context.explicit) return null
  const options = (await names()).map(({ name, type, kind, description }) => ({
    label: name,
    detail: type,
    type: kind === 'function' ? 'function' : 'variable',
    ...(description !== '' && { info: description }),
    ...(kind === 'function' && { apply: `${name}(` }),
  }))
  return { from: word?.from ?? context.pos, options, validFor: /^[\w.]*$/ }
}

/** Returns the error at its place, and the hints for the whole expression. */
async function problems(text: string, check: EditorOptions['check']): Promise<Diagnostic[]> {
  if (text.trim() === '') return []
  // A daemon that does not respond marks nothing: storing the rule reports it.
  const checked = await check(text).catch(() => undefined)
  if (!checked) return []
  const { error, hints } = checked
  const shown = hints.map((message): Diagnostic => ({ from: 0, to: text.length, severity: 'info', message }))
  if (!error) return shown
  const lines = text.split('\n')
  const before = lines.slice(0, error.line - 1).reduce((sum, line) => sum + line.length + 1, 0)
  const line = lines[error.line - 1] ?? ''
  const from = before + charactersOf(line, error.column - 1)
  const to = before + charactersOf(line, error.column - 1 + Math.max(error.length, 1))
  return [
    { from: Math.min(from, text.length), to: Math.min(to, text.length), severity: 'error', message: error.reason },
    ...shown,
  ]
}

/** Returns how many characters of a line are in its first bytes. */
function charactersOf(line: string, bytes: number): number {
  const encoded = new TextEncoder().encode(line).subarray(0, Math.max(bytes, 0))
  return new TextDecoder().decode(encoded).length
}
