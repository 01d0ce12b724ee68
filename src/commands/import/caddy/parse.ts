import { dirname, isAbsolute, join, relative } from 'node:path'
import { messageOf } from '../../../core/errors.js'
import { expanded } from '../site/glob.js'
import type { Place, Report } from '../site/report.js'
import { SyntaxFault } from '../site/syntax-fault.js'
import type { Files } from '../site/text-file.js'
import { tokens, type Token } from './lexer.js'

/** A directive, subdirective or matcher of a Caddyfile. */
export interface Segment {
  readonly name: string
  readonly args: readonly string[]
  readonly block?: readonly Segment[]
  readonly place: Place
}

/** A Caddyfile: its global options and its sites. The name and arguments of a site are its addresses. */
export interface Caddyfile {
  readonly options: readonly Segment[]
  readonly sites: readonly Segment[]
}

const MAX_DEPTH = 32
/** Directives after all imports: snippets that import each other twice double at each step. */
const MAX_SEGMENTS = 100_000

/** Reads a Caddyfile with the snippets and files that it imports. */
export class CaddyReader {
  readonly #files: Files
  readonly #report: Report
  readonly #environment: Readonly<Record<string, string | undefined>>
  readonly #snippets = new Map<string, readonly Segment[]>()
  #count = 0

  constructor(files: Files, report: Report, environment: Readonly<Record<string, string | undefined>>) {
    this.#files = files
    this.#report = report
    this.#environment = environment
  }

  /** Returns the sites of a text. Throws a {@link SyntaxFault}. */
  read(text: string, file: string): Caddyfile {
    const segments = this.#segments(text, file)
    const first = segments[0]
    const options = first?.name === '' ? (first.block ?? []) : []
    const rest = first?.name === '' ? segments.slice(1) : segments
    const opened = this.#imported(rest, [file], 0)
    // A file with one site may leave out its braces.
    const single =
      opened.length > 0 && opened.every(({ name }) => !name.startsWith('(')) && opened[0]!.block === undefined
    const sites = single
      ? [{ ...opened[0]!, block: opened.slice(1) }]
      : opened.filter(({ name, block, place }) => {
          if (block === undefined)
            throw new SyntaxFault(place, 1, `${name} is neither a site with a block nor a snippet`)
          return true
        })
    return { options: this.#imported(options, [file], 0), sites }
  }

  #segments(text: string, file: string): Segment[] {
    const replaced = this.#withEnvironment(text, file)
    return parsed(tokens(replaced, file), file)
  }

  /** Replaces `{$NAME}` and `{$NAME:default}`, as Caddy does before it reads the text. */
  #withEnvironment(text: string, file: string): string {
    return text.replaceAll(
      /\{\$([A-Za-z_]\w*)(?::([^}\n]*))?\}/g,
      (whole, name: string, byDefault: string | undefined, at: number) => {
        const value = this.#environment[name] ?? byDefault
        if (value !== undefined) return value
        this.#report.add(
          { file, line: text.slice(0, at).split('\n').length },
          whole,
          `the environment has no ${name}; it is read as empty`,
        )
        return ''
      },
    )
  }

  /** Replaces each `import`, takes out snippets, and goes into blocks. */
  #imported(segments: readonly Segment[], open: readonly string[], depth: number): Segment[] {
    return segments.flatMap((segment): Segment[] => {
      if (++this.#count > MAX_SEGMENTS)
        throw new SyntaxFault(segment.place, 1, `imports lead to more than ${MAX_SEGMENTS} directives`)
      if (depth > MAX_DEPTH)
        throw new SyntaxFault(segment.place, 1, `blocks and imports are more than ${MAX_DEPTH} deep`)
      const { name, block } = segment
      const snippet = /^\((.+)\)$/.exec(name)
      if (snippet) {
        this.#snippets.set(snippet[1]!, block ?? [])
        return []
      }
      if (name === 'import') return this.#import(segment, open, depth)
      return [block ? { ...segment, block: this.#imported(block, open, depth + 1) } : segment]
    })
  }

  #import({ args: [from = '', ...args], place }: Segment, open: readonly string[], depth: number): Segment[] {
    const snippet = this.#snippets.get(from)
    if (snippet) {
      if (open.includes(`(${from})`)) throw new SyntaxFault(place, 1, `the snippet ${from} imports itself`)
      return this.#imported(withArguments(snippet, args), [...open, `(${from})`], depth + 1)
    }
    const path = isAbsolute(from) ? from : join(dirname(place.file), from)
    const matched = expanded(path)
    if (matched.length === 0 && !/[*?[]/.test(path))
      throw new SyntaxFault(place, 1, `there is no snippet or file ${from}`)
    return matched.flatMap((found) => {
      const file = isAbsolute(place.file) ? found : relative('.', found)
      if (open.includes(file)) throw new SyntaxFault(place, 1, `${file} imports itself`)
      try {
        return this.#imported(
          withArguments(this.#segments(this.#files.read(found), file), args),
          [...open, file],
          depth + 1,
        )
      } catch (error) {
        if (error instanceof SyntaxFault) throw error
        this.#report.add(place, `import ${from}`, `cannot read ${file}: ${messageOf(error)}`)
        return []
      }
    })
  }
}

/** Replaces `{args.0}`, `{args[0]}` and `{args[:]}`. */
function withArguments(segments: readonly Segment[], args: readonly string[]): Segment[] {
  const replaced = (text: string): string =>
    text.replaceAll(
      /\{args(?:\.(\d+)|\[(\d+)\])\}/g,
      (_, a: string | undefined, b: string | undefined) => args[Number(a ?? b)] ?? '',
    )
  return segments.map(({ name, args: own, block, place }) => ({
    name: replaced(name),
    args: own.flatMap((each) => (/^\{args\[(\d*):(\d*)\]\}$/.test(each) ? sliceOf(each, args) : [replaced(each)])),
    ...(block && { block: withArguments(block, args) }),
    place,
  }))
}

function sliceOf(text: string, args: readonly string[]): readonly string[] {
  const [, from, to] = /^\{args\[(\d*):(\d*)\]\}$/.exec(text) ?? []
  return args.slice(Number(from ?? 0), to === '' || to === undefined ? undefined : Number(to))
}

/** Groups tokens to segments: one for each line, with a block if a brace ends the line. */
function parsed(source: readonly Token[], file: string): Segment[] {
  let at = 0
  const block = (depth: number, opened: number | undefined): Segment[] => {
    if (depth > MAX_DEPTH)
      throw new SyntaxFault({ file, line: opened ?? 1 }, 1, `blocks are more than ${MAX_DEPTH} deep`)
    const found: Segment[] = []
    for (;;) {
      const token = source[at]
      if (token === undefined) {
        if (opened !== undefined) throw new SyntaxFault({ file, line: opened }, 1, 'the block has no closing }')
        return found
      }
      if (isBrace(token, '}')) {
        if (opened === undefined) throw new SyntaxFault({ file, line: token.line }, 1, 'there is no block for this }')
        at++
        return found
      }
      found.push(segment(depth, token))
    }
  }
  const segment = (depth: number, first: Token): Segment => {
    const place = { file, line: first.line }
    if (isBrace(first, '{')) {
      at++
      return { name: '', args: [], block: block(depth + 1, first.line), place }
    }
    const words: string[] = []
    let { line } = first
    for (;;) {
      const token = source[at]
      const continues = words.at(-1)?.endsWith(',') === true && depth === 0
      if (token === undefined || (token.line !== line && !continues)) break
      if (isBrace(token, '{')) {
        at++
        const [name = '', ...args] = words
        return { name, args, block: block(depth + 1, token.line), place }
      }
      // A brace that closes on the line of the directive.
      if (isBrace(token, '}')) break
      words.push(token.text)
      line = token.line
      at++
    }
    const [name = '', ...args] = words
    return { name, args, place }
  }
  return block(0, undefined)
}

const isBrace = ({ text, quoted }: Token, brace: '{' | '}'): boolean => text === brace && !quoted
