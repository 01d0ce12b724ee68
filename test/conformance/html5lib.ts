import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Content } from '../../pipelines/markdown/text/names.js'
import { HtmlTokenizer } from '../../pipelines/markdown/html/tokenizer.js'
import type { Case, Suite } from './suite.js'

/** A token as the html5lib files write it. */
type Token = ['Character' | 'EndTag' | 'Comment', string] | ['StartTag' | 'DOCTYPE', ...unknown[]]

interface Test {
  description: string
  input: string
  output: Token[]
  initialStates?: string[]
  lastStartTag?: string
  doubleEscaped?: boolean
}

const CONTENT: Readonly<Record<string, Content>> = {
  'Data state': 'data',
  'RCDATA state': 'rcdata',
  'RAWTEXT state': 'rawtext',
  'Script data state': 'script',
  'PLAINTEXT state': 'plaintext',
  'CDATA section state': 'cdata',
}

/** The tokens of a page handed over in the given pieces, with neighbouring text joined. */
function tokensOf(pieces: Iterable<string>, within?: { content: Content; element: string }): Token[] {
  const tokens: Token[] = []
  const tokenizer = new HtmlTokenizer(
    {
      open(tag) {
        const attributes = Object.fromEntries(tag.attributes())
        tokens.push(['StartTag', tag.name, attributes, ...(tag.selfClosing ? [true] : [])])
      },
      close: (name) => void tokens.push(['EndTag', name]),
      text(text) {
        const last = tokens.at(-1)
        if (last?.[0] === 'Character') last[1] += text
        else tokens.push(['Character', text])
      },
      comment: (text) => void tokens.push(['Comment', text]),
      doctype: (...[name, publicId, systemId, quirks]) =>
        void tokens.push(['DOCTYPE', name, publicId, systemId, !quirks]),
    },
    within,
  )
  for (const piece of pieces) tokenizer.write(piece)
  tokenizer.end()
  return tokens
}

const unescape = <T>(value: T): T => JSON.parse(JSON.stringify(value).replace(/\\\\u([0-9a-fA-F]{4})/g, '\\u$1')) as T

/** The files expect the NUL that a browser's tokenizer passes on and its tree construction drops or replaces. */
function withoutNul(tokens: Token[], content: Content): Token[] {
  const replacement = content === 'cdata' ? '\ufffd' : ''
  return tokens.flatMap((token): Token[] => {
    if (token[0] !== 'Character') return [token]
    const text = token[1].replaceAll('\0', replacement)
    return text === '' ? [] : [['Character', text]]
  })
}

function joined(tokens: Token[]): Token[] {
  const result: Token[] = []
  for (const token of tokens) {
    const last = result.at(-1)
    if (last?.[0] === 'Character' && token[0] === 'Character') last[1] += token[1]
    else result.push(token)
  }
  return result
}

function* casesOf(file: string, test: Test): Generator<Case> {
  const { input, output } = test.doubleEscaped ? unescape({ input: test.input, output: test.output }) : test
  for (const state of test.initialStates ?? ['Data state']) {
    const content = CONTENT[state]
    if (content === undefined) throw new Error(`${file}: unknown initial state ${state}`)
    const name = `${file}: ${test.description} (${state})`
    const expected = joined(withoutNul(structuredClone(output), content))
    const within = { content, element: test.lastStartTag ?? '' }
    yield { name, expected, got: () => tokensOf([input], within) }
    yield { name: `${name}, one character at a time`, expected, got: () => tokensOf(input.split(''), within) }
  }
}

const VARIABLE = 'EDGED_HTML5LIB'

/** Returns the folder with the `.test` files of the tokenizer; undefined if the environment does not name one. */
export function html5libFolder(): string | undefined {
  const named = process.env[VARIABLE]
  if (named === undefined || named === '') return undefined
  const inner = join(named, 'tokenizer')
  return existsSync(inner) ? inner : named
}

/** The tokenizer cases of html5lib-tests, each read whole and in pieces of one character. */
export const html5lib: Suite = {
  name: 'html5lib',
  folder: () => html5libFolder(),
  missing: `set ${VARIABLE} to a folder with the tokenizer tests of html5lib-tests`,
  note: 'Each of the 7,032 cases runs twice: whole, and one character at a time. Parse errors are not compared.',
  *cases(folder: string) {
    for (const file of readdirSync(folder).filter((name) => name.endsWith('.test'))) {
      // Files that speak of XML alone have no `tests`.
      const { tests = [] } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as { tests?: Test[] }
      for (const test of tests) yield* casesOf(file, test)
    }
  },
}
