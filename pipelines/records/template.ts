import { assertString } from '../../src/core/errors.js'
/**
 * `record_template`: Go's text/template cut down to text, `{{.Field}}`, `{{"constant"}}` and comments, with Go's lexing of
 * white space, trim markers and constants.
 */

/** Pieces of a template, which are constant bytes and names of fields. */
export type TemplatePart = Uint8Array | { readonly field: string }

/** The template is not in the subset. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError'
  /** The character of the template, from 0, at which it went wrong. */
  readonly position: number

  constructor(reason: string, position: number) {
    super(`${reason} at character ${position}`)
    this.position = position
  }
}

const LEFT_TRIM = /-[ \t\r\n]/y
const BLANKS = /[ \t\r\n]*/y
const COMMENT = /\/\*[^]*?\*\//y
const CLOSE = /[ \t\r\n]+-\}\}|[ \t\r\n]*\}\}/y
/** Behind a comment the braces follow at once, or one blank and the trim marker. */
const COMMENT_CLOSE = /[ \t\r\n]-\}\}|\}\}/y
const FIELD = /\.((?![0-9])[\p{L}\p{Nd}_]+)/uy
/** A JSON pointer in the place of a name, for records of any shape. */
const POINTER = /\.(\/[^\s{}]+)/y
const QUOTED = /"((?:[^"\\\n]|\\[^\n])*)"/y
const RAW = /`([^`]*)`/y

/**
 * Cuts a template into its pieces. With `pointers` fields may be JSON pointers, `{{./user/email}}`. Throws a {@link
 * TemplateError}.
 */
export function parseTemplate(template: string, { pointers = false } = {}): TemplatePart[] {
  assertString(template)
  return new Reader(template, pointers).parts()
}

class Reader {
  readonly #source: string
  readonly #pointers: boolean
  readonly #parts: TemplatePart[] = []
  #at = 0

  constructor(source: string, pointers: boolean) {
    this.#source = source
    this.#pointers = pointers
  }

  parts(): TemplatePart[] {
    for (;;) {
      const open = this.#source.indexOf('{{', this.#at)
      const text = this.#source.slice(this.#at, open < 0 ? undefined : open)
      if (open < 0) {
        this.#bytes(text)
        return this.#parts
      }
      this.#at = open + 2
      const trims = this.#match(LEFT_TRIM) !== undefined
      this.#bytes(trims ? withoutEnd(text) : text)
      if (this.#source.startsWith('/*', this.#at)) this.#comment()
      else this.#action()
    }
  }

  #comment(): void {
    if (this.#match(COMMENT) === undefined) throw this.#wrong('a comment has no end')
    this.#close(COMMENT_CLOSE, 'a comment ends right before the closing braces')
  }

  #action(): void {
    this.#match(BLANKS)
    const start = this.#at
    const field = this.#match(FIELD) ?? (this.#pointers ? this.#match(POINTER) : undefined)
    const quoted = field === undefined ? this.#match(QUOTED) : undefined
    const raw = field === undefined && quoted === undefined ? this.#match(RAW) : undefined
    if (field !== undefined) this.#parts.push({ field })
    // Go drops carriage returns from raw constants.
    else if (raw !== undefined) this.#bytes(raw.replaceAll('\r', ''))
    else if (quoted !== undefined) this.#parts.push(constant(quoted, start + 1))
    else throw this.#wrong('a field such as .RayID or a constant in quotes is expected')
    this.#close(CLOSE, 'needs }} after a field')
  }

  #close(pattern: RegExp, reason: string): void {
    const close = this.#match(pattern)
    if (close === undefined) throw this.#wrong(reason)
    if (close.endsWith('-}}')) this.#match(BLANKS)
  }

  /** Returns the first group, or the whole match, of a pattern that matches here. Moves after the match. */
  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const match = pattern.exec(this.#source)
    if (match === null) return undefined
    this.#at = pattern.lastIndex
    return match[1] ?? match[0]
  }

  #bytes(text: string): void {
    if (text !== '') this.#parts.push(new TextEncoder().encode(text))
  }

  #wrong(reason: string): TemplateError {
    return new TemplateError(reason, this.#at)
  }
}

/** A pattern for this would be quadratic. */
function withoutEnd(text: string): string {
  let end = text.length
  while (end > 0 && ' \t\r\n'.includes(text[end - 1]!)) end--
  return text.slice(0, end)
}

const ESCAPE = /\\(?:([abfnrtv\\"])|([0-7]{3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))/y
const SIMPLE: Readonly<Record<string, number>> = { a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11, '\\': 92, '"': 34 }

/** The bytes of an interpreted Go string, without its quotes; `\xff` and `\377` are single bytes. */
function constant(text: string, position: number): Uint8Array {
  const out: number[] = []
  const encoder = new TextEncoder()
  for (let at = 0; at < text.length;) {
    const next = text.indexOf('\\', at)
    const plain = next < 0 ? text.length : next
    for (const byte of encoder.encode(text.slice(at, plain))) out.push(byte)
    if (next < 0) break
    ESCAPE.lastIndex = next
    const match = ESCAPE.exec(text)
    if (match === null) throw new TemplateError('unknown escape', position + next)
    const [, simple, octal, hex, short, long] = match
    const code = Number.parseInt(short ?? long ?? '0', 16)
    const byte = simple !== undefined ? SIMPLE[simple]! : Number.parseInt(octal ?? hex ?? '', octal ? 8 : 16)
    if (byte > 0xff || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
      throw new TemplateError('the escape names no character', position + next)
    if (short ?? long) for (const each of encoder.encode(String.fromCodePoint(code))) out.push(each)
    else out.push(byte)
    at = ESCAPE.lastIndex
  }
  return Uint8Array.from(out)
}
