import { readFileSync } from 'node:fs'
import { isMap, isScalar, LineCounter, parseDocument, visit, type Document, type Node, type Scalar } from 'yaml'
import { fileFault, InvalidInput, type Issue, type PlaceInText } from '../core/errors.js'
import { scalarOffset } from './zones/scalar-place.js'

/** An issue of a configuration file; lines and columns count from 1. */
export interface ConfigIssue {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly message: string
}

/** The configuration cannot be used. `message` has one `FILE:LINE:COL: message` per line. */
export class BadConfig extends Error {
  override readonly name = 'BadConfig'
  readonly faults: readonly ConfigIssue[]

  constructor(faults: readonly ConfigIssue[]) {
    super(faults.map(({ file, line, column, message }) => `${file}:${line}:${column}: ${message}`).join('\n'))
    this.faults = faults
  }
}

export type Environment = Readonly<Record<string, string | undefined>>

/** A YAML document with `${NAME}` replaced. */
export interface YamlFile {
  readonly document: Document
  /** Returns the line of a JSON pointer, from 1. */
  readonly lineOf: (pointer: string) => number
  /**
   * Calls `check` with the value of the document (undefined if empty) and returns its result. Issues that it throws as
   * InvalidInput, or passes to `reject`, are thrown as {@link BadConfig} with their positions in the file.
   */
  checked<T>(check: (value: unknown, reject: (issues: readonly Issue[]) => void) => T): T
  /** Returns issues with their positions in the file. */
  placed(issues: readonly Issue[]): ConfigIssue[]
}

/** Reads the text of a YAML file; throws {@link BadConfig}. */
export function readYaml(text: string, file: string, environment: Environment): YamlFile {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true })
  const place = (offset: number, message: string): ConfigIssue => {
    const { line, col } = lines.linePos(offset)
    return { file, line: Math.max(line, 1), column: Math.max(col, 1), message }
  }
  const faults = document.errors.map(({ code, pos: [start], message }) =>
    place(
      start,
      code === 'MULTIPLE_DOCS'
        ? 'a second document begins here; a file has one, without ---'
        : (message.split(' at line')[0] ?? message) + syntaxAdvice(code, message),
    ),
  )
  visit(document, {
    Alias(_key, alias) {
      if (!alias.resolve(document)) faults.push(place(alias.range?.[0] ?? 0, `*${alias.source} is not an anchor above`))
    },
  })
  if (faults.length === 0) faults.push(...substitute(document, environment, place))
  if (faults.length > 0) throw new BadConfig(faults)
  const placed = (issues: readonly Issue[]): ConfigIssue[] =>
    issues.map(({ pointer, message, inside }) =>
      inside
        ? place(insideOf(document, text, pointer, inside), `${named(pointer)} ${inside.reason}`)
        : place(
            offsetOf(document, pointer),
            pointer && !message.startsWith('unknown option')
              ? `${named(pointer)} ${message}${quoteAdvice(document, pointer, message)}`
              : message,
          ),
    )
  const reject = (issues: readonly Issue[]): void => {
    if (issues.length === 0) return
    throw new BadConfig(placed(issues).toSorted((a, b) => a.line - b.line || a.column - b.column))
  }
  return {
    document,
    placed,
    lineOf: (pointer) => place(offsetOf(document, pointer), '').line,
    checked(check) {
      try {
        return check(withoutNulls(document.toJS()) ?? undefined, reject)
      } catch (error) {
        if (error instanceof InvalidInput) reject(error.issues)
        // Nested aliases: the library stops before memory runs out.
        if (error instanceof ReferenceError) reject([{ pointer: '', message: 'uses aliases too often' }])
        throw error
      }
    },
  }
}

const named = (pointer: string): string => pointer.slice(1).replaceAll('/', '.')

/** Returns the offset of a place inside of the text at a pointer. */
function insideOf(document: Document, text: string, pointer: string, { line, offset }: PlaceInText): number {
  const node = document.getIn(pointer.split('/').slice(1).map(unescaped), true)
  if (!isScalar(node) || typeof node.value !== 'string') return offsetOf(document, pointer)
  const before = node.value.split('\n').slice(0, line - 1)
  return scalarOffset(
    text,
    node,
    before.reduce((sum, one) => sum + one.length + 1, offset),
  )
}

/** Says what to do about an error of the syntax, by the code and message of the parser. */
function syntaxAdvice(code: string, message: string): string {
  const advice = SYNTAX_ADVICE.find(([known, text]) => code === known && message.includes(text))
  return advice ? `; ${advice[2]}` : ''
}

const SYNTAX_ADVICE: readonly (readonly [code: string, inMessage: string, advice: string])[] = [
  ['BAD_INDENT', 'end with a ]', 'close the list with ] after its last item'],
  ['BAD_INDENT', 'end with a }', 'close the section with } after its last option'],
  ['BAD_INDENT', '', 'indent the lines of one list or section by the same number of spaces'],
  ['MISSING_CHAR', 'quote', 'close the text with the same quote'],
  [
    'MISSING_CHAR',
    'Implicit map keys',
    'write NAME: VALUE, with a colon and a space, or indent the line below its section',
  ],
  ['MISSING_CHAR', '', 'check the indentation, brackets and quotes here and in the lines above'],
  [
    'BLOCK_AS_IMPLICIT_KEY',
    '',
    'put quotes around a text with a colon in it, or indent the line as its neighbours are',
  ],
  ['MULTILINE_IMPLICIT_KEY', '', 'indent the line as its neighbours are'],
  ['BAD_SCALAR_START', '', 'put quotes around the text'],
  ['UNEXPECTED_TOKEN', 'BLOCK', 'indent the lines of one list or section by the same number of spaces'],
  ['UNEXPECTED_TOKEN', 'flow-', 'remove the bracket, or open one before it'],
  ['UNEXPECTED_TOKEN', '', 'check the indentation, brackets and quotes here and in the lines above'],
  ['TAB_AS_INDENT', '', 'use spaces'],
  ['DUPLICATE_KEY', '', 'join the two sections, or remove one'],
]

/** Issues of a text that has the form of a number. */
const WANTS_TEXT = /^must be (a string\b|32 digits of 0-9 and a-f)/

/** Says what to do if YAML reads a text without quotes as a number, as it does with an id that has no letters. */
function quoteAdvice(document: Document, pointer: string, message: string): string {
  const node = document.getIn(pointer.split('/').slice(1).map(unescaped), true)
  if (!isScalar(node) || node.type !== 'PLAIN' || !WANTS_TEXT.test(message)) return ''
  const { value, source = '' } = node
  if (typeof value !== 'number' && typeof value !== 'bigint' && typeof value !== 'boolean') return ''
  if (message.startsWith('must be 32') && !/^[0-9a-f]{32}$/.test(source)) return ''
  return `; put quotes around it: "${source}"`
}

const unescaped = (token: string): string => token.replaceAll('~1', '/').replaceAll('~0', '~')

const REFERENCE = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g

/** Replaces `${NAME}` and `${NAME:-default}` inside scalar values; `$${` writes a literal `${`. */
function substitute(
  document: Document,
  environment: Environment,
  place: (offset: number, message: string) => ConfigIssue,
) {
  const faults: ConfigIssue[] = []
  visit(document, {
    Scalar(key, node: Scalar) {
      if (key === 'key' || typeof node.value !== 'string' || !node.value.includes('${')) return
      const text = node.value.replaceAll(REFERENCE, (all, name?: string, otherwise?: string) => {
        if (name === undefined) return '${'
        const value = environment[name]
        if (value !== undefined && value !== '') return value
        if (otherwise === undefined)
          faults.push(
            place(node.range?.[0] ?? 0, `the environment has no ${name}; set it, or write \${${name}:-default}`),
          )
        return otherwise ?? all
      })
      // A plain scalar is parsed again, so that ${PORT} can be a number; a quoted one stays text.
      node.value = node.type === 'PLAIN' ? retyped(text) : text
    },
  })
  return faults
}

function retyped(text: string): unknown {
  if (/^-?(0|[1-9]\d{0,14})$/.test(text)) return Number(text)
  if (text === 'true' || text === 'false') return text === 'true'
  return text
}

/** Returns the node of a JSON pointer: the key of a member, an item of a list, or the nearest existing parent. */
function offsetOf(document: Document, pointer: string): number {
  let node: unknown = document.contents
  let offset = (node as Node | null)?.range?.[0] ?? 0
  for (const token of pointer.split('/').slice(1)) {
    const step = unescaped(token)
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === step)
      if (!pair) break
      offset = (pair.key as Node).range?.[0] ?? offset
      node = pair.value
    } else {
      node = (node as { items?: unknown[] } | null)?.items?.[Number(step)]
      offset = (node as Node | undefined)?.range?.[0] ?? offset
    }
  }
  return offset
}

/** Removes members without a value (`secrets:` and nothing below it), which are treated as absent. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (value === null || typeof value !== 'object') return value ?? undefined
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]) => (member === null ? [] : [[key, withoutNulls(member)]])),
  )
}

/** Returns an error about a file as a whole. */
export const badFile = (file: string, message: string): BadConfig =>
  new BadConfig([{ file, line: 1, column: 1, message }])

/** Returns the text of a configuration file; throws {@link BadConfig} if it cannot be read. */
export function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    const advice = '; edged init writes a configuration, config/pipelines/ has examples of pipelines'
    throw badFile(file, fileFault(error) + (isMissing ? advice : ''))
  }
}
