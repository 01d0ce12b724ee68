import { codeAt, holds, joinLines, lastCode } from '../text/characters.js'
import { CONTAINERS } from './element.js'
import { DROPPED } from './left-out.js'
import { codeSpan, fenceFor } from '../output/escape.js'
import type { Skip, Tag } from '../text/events.js'
import { isLineNumber, languageOf } from '../text/language.js'
import { elementNamed, KNOWN_NAMES } from '../text/names.js'

const LF = 0x0a

/** Elements inside code that are dropped. */
const NOT_CODE: ReadonlySet<string> = new Set([...DROPPED, 'noscript', 'template', 'button'])

/** Elements on a separate line, which some highlighters use for each line of a program. */
const LINES = ['div', 'p', 'li', 'tr', 'dt', 'dd']

const MEANS_TEXT = 1
const IS_DROPPED = 2
const IS_CONTAINER = 4
const IS_LINE = 8

/** Meaning of an element here, by its position in the table of names. All others are read as their text. */
const MEANS = new Uint8Array(KNOWN_NAMES + 1)
const mark = (names: Iterable<string>, meaning: number) => {
  for (const name of names) MEANS[elementNamed(name).id] = (MEANS[elementNamed(name).id] as number) | meaning
}
mark(['br', 'code', 'span', 'pre', 'listing', 'xmp', 'plaintext'], MEANS_TEXT)
mark(NOT_CODE, IS_DROPPED)
mark(CONTAINERS, IS_CONTAINER)
mark(LINES, IS_LINE)

/** A number, its line, and the next number. */
const NUMBERED = /^\s*\d+\n[^\n]*\n\s*\d+\n/

/** Elements with a header or a button of a program, by their class. */
const HEADER = /(?:^|[\s_-])(?:header|toolbar|copy)(?:[\s_-]|$)/i

/** The contents of a `<pre>`, unchanged. */
export class Preformatted {
  #text = ''
  #language: string | undefined
  #isCode = false
  /** Whether nothing has arrived since the tag. */
  #isFresh = true
  /** Whether line numbers were dropped. */
  #hasNumbers = false
  /** Whether elements began lines. */
  #hasLines = false
  readonly #name: string
  /** Number of open elements inside, by name. */
  readonly #open = new Map<string, number>()

  constructor(tag: Tag, language: string | undefined) {
    this.#name = tag.name
    this.#language = languageOf(tag) ?? language
  }

  open(tag: Tag): Skip | void {
    const { name, id } = tag
    const meaning = MEANS[id] as number
    if (meaning === 0) {
      this.#isFresh = false
      return
    }
    if ((meaning & IS_DROPPED) !== 0) return 'skip'
    if (name === 'div' && this.#text.trim() === '' && HEADER.test(tag.attribute('class') ?? '')) return 'skip'
    if (isLineNumber(tag)) {
      this.#hasNumbers = true
      return 'skip'
    }
    this.#isFresh = false
    if (name === 'br') this.#text += '\n'
    else if (name === 'code') {
      this.#isCode = true
      this.#language = languageOf(tag) ?? this.#language
    } else if ((meaning & IS_CONTAINER) !== 0 || name === this.#name) {
      if ((meaning & IS_LINE) !== 0) this.#breakLine()
      this.#open.set(name, (this.#open.get(name) ?? 0) + 1)
    }
  }

  /** Returns whether this end tag ends the `<pre>`. */
  close(name: string, id: number): boolean {
    this.#isFresh = false
    const meaning = MEANS[id] as number
    if ((meaning & IS_CONTAINER) === 0 && name !== this.#name) return false
    const open = this.#open.get(name) ?? 0
    if (open > 0) {
      this.#open.set(name, open - 1)
      if ((meaning & IS_LINE) !== 0) this.#breakLine()
      return false
    }
    return name === this.#name || name !== 'p'
  }

  text(text: string): void {
    // A line feed right after the tag is not content. WHATWG HTML, 13.2.6.4.7.
    this.#text += this.#isFresh && codeAt(text, 0) === LF ? text.slice(1) : text
    this.#isFresh = false
  }

  #breakLine(): void {
    this.#hasLines = true
    if (this.#text !== '' && lastCode(this.#text) !== LF) this.#text += '\n'
  }

  /** Returns the text without a column of line numbers, where each number became a line before its line of code. */
  #withoutNumbers(): string {
    if (!NUMBERED.test(this.#text)) return this.#text
    const lines = this.#text.replace(/\n$/, '').split('\n')
    const first = Number(lines[0])
    const isNumbered =
      lines.length % 2 === 0 && lines.every((line, at) => at % 2 === 1 || line.trim() === `${first + at / 2}`)
    return isNumbered ? lines.filter((_, at) => at % 2 === 1).join('\n') : this.#text
  }

  /** Returns a fenced block, or '' for white space that is not code. */
  fence(): string {
    const written = this.#hasLines ? this.#withoutNumbers() : this.#text
    const code = this.#name === 'code' ? withoutIndentation(written) : written
    if (code === '' && this.#name === 'code') return ''
    const text = holds(code, '\u00a0') ? code.replaceAll('\u00a0', ' ') : code
    if ((!this.#isCode || this.#hasNumbers) && text.trim() === '') return ''
    const fence = fenceFor(text)
    const end = text === '' || text.endsWith('\n') ? '' : '\n'
    return `${fence}${this.#language ?? ''}\n${text}${end}${fence}`
  }

  /** Returns the code on one line, for the cell of a table. */
  span(): string {
    const line = joinLines(this.#text.trim())
    return line === '' ? '' : codeSpan(line)
  }
}

/** Returns code without the white space by which the source of a page indents it. */
function withoutIndentation(code: string): string {
  const indentation = /^[ \t]*/.exec(code)?.[0] ?? ''
  return (indentation === '' ? code : code.replaceAll(`\n${indentation}`, '\n')).trim()
}
