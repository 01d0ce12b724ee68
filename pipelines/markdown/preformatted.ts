import { codeAt, joinLines, lastCode } from './characters.js'
import { CONTAINERS } from './elements/element.js'
import { DROPPED } from './elements/left-out.js'
import { codeSpan, fenceFor } from './escape.js'
import type { Skip, Tag } from './events.js'
import { isLineNumber, languageOf } from './language.js'
import { elementNamed, KNOWN_NAMES } from './names.js'

const LF = 0x0a

/** Elements inside code that are dropped. */
const NOT_CODE: ReadonlySet<string> = new Set([...DROPPED, 'noscript', 'template', 'button'])

/** By an element's position in the table of names: whether it has a meaning here. All others are read as their text. */
const MEANS = new Uint8Array(KNOWN_NAMES + 1)
for (const name of [...NOT_CODE, ...CONTAINERS, 'br', 'code', 'span', 'pre', 'listing', 'xmp', 'plaintext'])
  MEANS[elementNamed(name).id] = 1

/** Elements on a separate line, which some highlighters use for each line of a program. */
const LINES = new Set(['div', 'p', 'li', 'tr', 'dt', 'dd'])

/** The contents of a `<pre>`, unchanged. */
export class Preformatted {
  #text = ''
  #language: string | undefined
  #isCode = false
  /** Whether nothing has arrived since the tag. */
  #isFresh = true
  /** Whether line numbers were dropped. */
  #hasNumbers = false
  readonly #name: string
  /** Number of open elements inside, by name. */
  readonly #open = new Map<string, number>()

  constructor(tag: Tag, language: string | undefined) {
    this.#name = tag.name
    this.#language = languageOf(tag) ?? language
  }

  open(tag: Tag): Skip | void {
    const { name, id } = tag
    if (MEANS[id] === 0) {
      this.#isFresh = false
      return
    }
    if (NOT_CODE.has(name)) return 'skip'
    if (isLineNumber(tag)) {
      this.#hasNumbers = true
      return 'skip'
    }
    this.#isFresh = false
    if (name === 'br') this.#text += '\n'
    else if (name === 'code') {
      this.#isCode = true
      this.#language = languageOf(tag) ?? this.#language
    } else if (CONTAINERS.has(name) || name === this.#name) {
      if (LINES.has(name)) this.#breakLine()
      this.#open.set(name, (this.#open.get(name) ?? 0) + 1)
    }
  }

  /** Returns whether this end tag ends the `<pre>`. */
  close(name: string, id: number): boolean {
    this.#isFresh = false
    if (MEANS[id] === 0) return false
    const open = this.#open.get(name) ?? 0
    if (open > 0) {
      this.#open.set(name, open - 1)
      if (LINES.has(name)) this.#breakLine()
      return false
    }
    return name === this.#name || (CONTAINERS.has(name) && name !== 'p')
  }

  text(text: string): void {
    // A line feed right after the tag is not content. WHATWG HTML, 13.2.6.4.7.
    this.#text += this.#isFresh && codeAt(text, 0) === LF ? text.slice(1) : text
    this.#isFresh = false
  }

  #breakLine(): void {
    if (this.#text !== '' && lastCode(this.#text) !== LF) this.#text += '\n'
  }

  /** Returns a fenced block, or '' for white space that is not code. */
  fence(): string {
    const text = this.#text
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
