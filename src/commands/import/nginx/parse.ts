import { dirname, isAbsolute, join, relative } from 'node:path'
import { messageOf } from '../../../core/errors.js'
import { expanded } from '../site/glob.js'
import type { Place, Report } from '../site/report.js'
import type { Files } from '../site/text-file.js'
import { SyntaxFault } from '../site/syntax-fault.js'
import { tokens, type Token } from './lexer.js'

/** A directive with its arguments, and its block if it has one. */
export interface Directive {
  readonly name: string
  readonly args: readonly string[]
  readonly block?: readonly Directive[]
  readonly place: Place
}

/** Files that include each other are at most this deep, and blocks too. */
const MAX_DEPTH = 32

/** Reads a configuration with all files that it includes. Throws a {@link SyntaxFault}. */
export class NginxReader {
  readonly #files: Files
  readonly #report: Report
  /** Paths of `include` are relative to the folder of the main file. */
  readonly #base: string

  constructor(file: string, files: Files, report: Report) {
    this.#base = dirname(file)
    this.#files = files
    this.#report = report
  }

  /** Returns the directives of a text. `open`: the files that include it. */
  read(text: string, file: string, open: readonly string[] = [file]): Directive[] {
    const source = [...tokens(text, file)]
    const end = source.at(-1)?.line ?? 1
    let at = 0
    const block = (depth: number, opened?: Token): Directive[] => {
      const found: Directive[] = []
      for (;;) {
        const token = source[at]
        if (token === undefined) {
          if (opened) throw new SyntaxFault({ file, line: opened.line }, 1, 'the block has no closing }')
          return found
        }
        if (token.type === '}') {
          if (!opened) throw new SyntaxFault({ file, line: token.line }, 1, 'there is no block for this }')
          at++
          return found
        }
        found.push(...this.#directive(() => directive(token, depth), open))
      }
    }
    const directive = (first: Token, depth: number): Directive => {
      if (depth > MAX_DEPTH)
        throw new SyntaxFault({ file, line: first.line }, 1, `blocks are more than ${MAX_DEPTH} deep`)
      const place = { file, line: first.line }
      if (first.type !== 'word') throw new SyntaxFault(place, 1, `unexpected ${first.type}`)
      const args: string[] = []
      at++
      for (;;) {
        const token = source[at++]
        if (token === undefined)
          throw new SyntaxFault({ file, line: end }, 1, `${first.text} of line ${first.line} has no ; at its end`)
        if (token.type === 'word') args.push(token.text)
        else if (token.type === ';') return { name: first.text, args, place }
        else if (token.type === '}')
          throw new SyntaxFault(
            { file, line: token.line },
            1,
            `${first.text} of line ${first.line} has no ; at its end`,
          )
        else return { name: first.text, args, block: block(depth + 1, first), place }
      }
    }
    return block(0)
  }

  /** Returns a directive, or the directives of the files that it includes. */
  #directive(take: () => Directive, open: readonly string[]): Directive[] {
    const found = take()
    if (found.name !== 'include') return [found]
    const [pattern = ''] = found.args
    const path = isAbsolute(pattern) ? pattern : join(this.#base, pattern)
    // The table of media types: edged has its own.
    if (/(^|\/)mime\.types$/.test(path)) return []
    const matched = expanded(path)
    if (matched.length === 0 && !/[*?[]/.test(path))
      this.#report.add(found.place, `include ${pattern}`, 'the file does not exist')
    return matched.flatMap((file) => {
      const name = isAbsolute(pattern) ? file : relativeTo(open[0]!, file)
      if (open.includes(name)) throw new SyntaxFault(found.place, 1, `${name} includes itself`)
      if (open.length >= MAX_DEPTH)
        throw new SyntaxFault(found.place, 1, `more than ${MAX_DEPTH} files include each other`)
      try {
        return this.read(this.#files.read(file), name, [...open, name])
      } catch (error) {
        if (error instanceof SyntaxFault) throw error
        this.#report.add(found.place, `include ${pattern}`, `cannot read ${name}: ${messageOf(error)}`)
        return []
      }
    })
  }
}

/** Returns a path as the name of the main file has it: relative to the current folder, or absolute. */
const relativeTo = (main: string, file: string): string => (isAbsolute(main) ? file : relative('.', file))
