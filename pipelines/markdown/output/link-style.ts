import { codeAt } from '../text/characters.js'

const LF = 0x0a
const SPACE = 0x20
const EXCLAMATION = 0x21
const QUOTE = 0x22
const OPEN_PARENTHESIS = 0x28
const CLOSE_PARENTHESIS = 0x29
const COLON = 0x3a
const LESS = 0x3c
const GREATER = 0x3e
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const BACKTICK = 0x60

/** A bracket that may begin a link or an image. */
interface Opener {
  readonly at: number
  readonly isImage: boolean
  /**
   * Whether the bracket can start a link. False after a link has ended inside, because a link cannot contain a link.
   */
  isActive: boolean
}

/** Replaces a part of a block. */
interface Edit {
  readonly from: number
  readonly to: number
  readonly text: string
  /** Position of the start, for the end of a link or image. */
  readonly start: number
}

/**
 * Rewrites the links in finished blocks of Markdown. `none` leaves their text and the descriptions of images.
 * `numbered` writes a number after the text, and lists the addresses at the end of the page.
 */
export class LinkStyle {
  /** Characters of text in rewritten links so far, white space not counted. */
  linked = 0
  readonly #isNumbered: boolean
  readonly #numbers = new Map<string, number>()

  constructor(style: 'none' | 'numbered') {
    this.#isNumbered = style === 'numbered'
  }

  /** Number of different addresses so far. */
  get size(): number {
    return this.#numbers.size
  }

  /** Removes all addresses after the first `size`. */
  truncate(size: number): void {
    for (const [target, number] of this.#numbers) if (number > size) this.#numbers.delete(target)
  }

  /** Returns the list of addresses, as link reference definitions. CommonMark 0.31.2, 4.7. */
  list(): string {
    const lines: string[] = []
    for (const [target, number] of this.#numbers) lines.push(`[${number}]: ${target}`)
    return lines.join('\n')
  }

  /** Returns a block of Markdown with its links rewritten. The time is linear in the length, except for a sort. */
  rewrite(markdown: string): string {
    return markdown.includes('[') ? apply(markdown, this.#edits(markdown)) : markdown
  }

  /** Finds links and images as CommonMark does. */
  #edits(markdown: string): Edit[] {
    const edits: Edit[] = []
    const openers: Opener[] = []
    for (let at = 0; at < markdown.length; at++)
      switch (codeAt(markdown, at)) {
        case BACKSLASH:
          at++
          break
        case BACKTICK:
          at = endOfCode(markdown, at) - 1
          break
        case LESS:
          at = endOfAutolink(markdown, at) - 1
          break
        case EXCLAMATION:
          if (markdown.charCodeAt(at + 1) === OPEN_BRACKET) openers.push({ at: at++, isImage: true, isActive: true })
          break
        case OPEN_BRACKET:
          openers.push({ at, isImage: false, isActive: true })
          break
        case CLOSE_BRACKET: {
          const opener = openers.pop()
          if (opener === undefined) break
          const end = opener.isActive ? endOfTarget(markdown, at + 1) : undefined
          if (end === undefined) {
            // Text in brackets must not be read as a reference to one of the addresses.
            if (this.#isNumbered && /^\[\d+$/.test(markdown.slice(opener.at, at).slice(0, 12)))
              edits.push({ from: opener.at, to: opener.at, text: '\\', start: -1 })
            break
          }
          if (!opener.isImage || !this.#isNumbered) this.#rewrite(markdown, opener, at, end, edits)
          if (!opener.isImage) deactivate(openers)
          at = end - 1
          break
        }
      }
    return edits
  }

  #rewrite(markdown: string, { at, isImage }: Opener, close: number, end: number, edits: Edit[]): void {
    const from = isImage ? at + 2 : at + 1
    edits.push({ from: at, to: from, text: '', start: -1 })
    for (let each = from; each < close; each++) if (codeAt(markdown, each) > SPACE) this.linked++
    edits.push({
      from: close,
      to: end,
      text: isImage || !this.#isNumbered ? '' : this.#citation(markdown, close, end),
      start: at,
    })
  }

  #citation(markdown: string, close: number, end: number): string {
    const target = markdown.slice(close + 2, end - 1) || '<>'
    let number = this.#numbers.get(target)
    if (number === undefined) {
      number = this.#numbers.size + 1
      this.#numbers.set(target, number)
    }
    const next = markdown.charCodeAt(end)
    // A colon right after it could turn it into a definition.
    return ` [${number}]${next === COLON ? '\\' : ''}`
  }
}

/**
 * Makes text of all openers around a link except images. Stops at the first one that is text already, because those
 * before it are text too.
 */
function deactivate(openers: readonly Opener[]): void {
  for (let at = openers.length - 1; at >= 0; at--) {
    const opener = openers[at] as Opener
    if (opener.isImage) continue
    if (!opener.isActive) return
    opener.isActive = false
  }
}

function apply(markdown: string, edits: Edit[]): string {
  if (edits.length === 0) return markdown
  edits.sort((a, b) => a.from - b.from || a.to - b.to)
  const written = new Written()
  /** For each start of a link or image, the length of the output before it. */
  const lengths = new Map<number, number>()
  let from = 0
  let hasHole = false
  for (const edit of edits) {
    written.add(markdown.slice(from, edit.from))
    from = edit.to
    lengths.set(edit.from, written.length)
    const isEmpty = edit.start >= 0 && lengths.get(edit.start) === written.length
    written.add(isEmpty ? edit.text.trimStart() : edit.text)
    if (written.last === CLOSE_BRACKET && markdown.charCodeAt(from) === OPEN_PARENTHESIS) written.add('\\')
    if (!isEmpty || edit.text !== '') continue
    hasHole = true
    // Marks around nothing would be text.
    while (written.endsInMark && markdown.charCodeAt(from) === written.last) {
      written.dropLast()
      from++
    }
    if ((written.last === SPACE || written.length === 0) && markdown.charCodeAt(from) === SPACE) from++
  }
  written.add(markdown.slice(from))
  // An empty line would end the paragraph.
  return hasHole
    ? written
        .toString()
        .replace(/\n *(?=\n)/g, '')
        .trim()
    : written.toString()
}

/** Text that is written in pieces and may lose its last characters again. */
class Written {
  length = 0
  readonly #pieces: string[] = []

  add(piece: string): void {
    if (piece === '') return
    this.#pieces.push(piece)
    this.length += piece.length
  }

  get last(): number {
    return this.#pieces.at(-1)?.charCodeAt((this.#pieces.at(-1)?.length ?? 0) - 1) ?? -1
  }

  /** Whether the last character is an unescaped mark of emphasis. */
  get endsInMark(): boolean {
    return /(?:^|[^\\])[*_~]$/.test((this.#pieces.at(-1) ?? '').slice(-2))
  }

  dropLast(): void {
    const piece = this.#pieces.pop() ?? ''
    this.length -= piece.length
    this.add(piece.slice(0, -1))
  }

  toString(): string {
    return this.#pieces.join('')
  }
}

/** Returns the end of the code span that begins at `at`, or the end of its backticks if it is none. */
function endOfCode(markdown: string, at: number): number {
  let from = at
  while (markdown.charCodeAt(from) === BACKTICK) from++
  const fence = markdown.slice(at, from)
  for (let end = markdown.indexOf(fence, from); end >= 0; end = markdown.indexOf(fence, end)) {
    let after = end
    while (markdown.charCodeAt(after) === BACKTICK) after++
    if (after - end === fence.length) return after
    end = after
  }
  return from
}

/** CommonMark 0.31.2, 6.5. */
const AUTOLINK = /<(?:[a-z][a-z\d+.-]{1,31}:|[\w.!#$%&'*+/=?^`{|}~-]+@)[^\s<>]*>/iy

function endOfAutolink(markdown: string, at: number): number {
  AUTOLINK.lastIndex = at
  return AUTOLINK.test(markdown) ? AUTOLINK.lastIndex : at + 1
}

/** Returns the end of `(target "title")` at `at`. Undefined if there is none. CommonMark 0.31.2, 6.3. */
function endOfTarget(markdown: string, at: number): number | undefined {
  if (markdown.charCodeAt(at) !== OPEN_PARENTHESIS) return undefined
  let end = at + 1
  if (markdown.charCodeAt(end) === LESS) {
    end = endOfQuoted(markdown, end + 1, GREATER)
  } else {
    for (let depth = 0; end < markdown.length; end++) {
      const char = codeAt(markdown, end)
      if (char === BACKSLASH) end++
      else if (char === OPEN_PARENTHESIS) depth++
      else if (char <= SPACE || (char === CLOSE_PARENTHESIS && depth-- === 0)) break
    }
  }
  if (markdown.charCodeAt(end) === SPACE && markdown.charCodeAt(end + 1) === QUOTE)
    end = endOfQuoted(markdown, end + 2, QUOTE)
  return markdown.charCodeAt(end) === CLOSE_PARENTHESIS ? end + 1 : undefined
}

/** Returns the position after `mark`, escaped ones not counted. */
function endOfQuoted(markdown: string, from: number, mark: number): number {
  for (let at = from; at < markdown.length; at++) {
    const char = codeAt(markdown, at)
    if (char === mark) return at + 1
    if (char === LF) break
    if (char === BACKSLASH) at++
  }
  return markdown.length
}
