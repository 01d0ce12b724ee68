import { classOf, codeAt, lastCode, lastCodePoint } from './characters.js'
import { isLineStart } from './escape.js'
import { firstPunctuation, lastPunctuation } from './inline-format.js'

/** At the ends of a block some readers of Markdown take it for white space. */
const NBSP = 0xa0

/**
 * The Markdown of a block as far as it is written. It is kept in pieces, since what stands on both sides of a mark says
 * how the mark is read: the last two may still be changed by what follows them.
 */
export class Pieces {
  #done = ''
  protected previous = ''
  protected last = ''
  /** Whether the last piece is Markdown of ours, not text. */
  protected marked = false
  /** White space that is written with what comes after it. */
  protected gap: '' | ' ' | '  \n' = ''
  protected empty = true
  /** Right after closing marks: what may not follow them as it is. `word`: the text before them ends in punctuation. */
  protected closed: '' | 'any' | 'word' = ''
  protected hasBreaks = false
  /** The first character of the block, -1 before there is one. What is put in its place later starts no line. */
  #first = -1

  /** Whether a line of the block that was ended last may be read as the start of a list, a heading or the like. */
  startsMayMean = false

  protected get writtenLength(): number {
    return this.#done.length + this.previous.length + this.last.length
  }

  protected append(piece: string): void {
    if (this.#first < 0) this.#first = codeAt(piece, 0)
    this.#done += this.previous
    this.previous = this.last
    this.last = piece
  }

  /** Takes the last two pieces back. White space before them stays, as it would without them. */
  protected dropLast(): void {
    this.previous = this.last = ''
    this.marked = false
    this.closed = ''
    this.empty = this.#done.trim() === ''
    if (this.empty) this.#first = -1
    if (!this.#done.endsWith(' ')) return
    this.#done = this.#done.slice(0, -1)
    this.gap = ' '
  }

  protected writeGap(): void {
    if (!this.empty) {
      if (this.gap !== ' ') this.hasBreaks = true
      this.append(this.gap)
      this.marked = false
      this.closed = ''
    }
    this.gap = ''
  }

  /** The last character of ours in front of what comes, `marks` included. */
  protected markBefore(marks: string): string {
    if (marks !== '') return marks.charAt(marks.length - 1)
    return this.marked ? this.last.charAt(this.last.length - 1) : ''
  }

  /**
   * Marks may not stand between a word and punctuation, as in `a*"b"*`. In text without spaces between words the
   * punctuation moves out of the emphasis; elsewhere the letter is written as a character reference.
   */
  protected separate(movable: string, piece: string): string {
    const letter = lastCodePoint(this.last)
    const moved = letter > 127 ? firstPunctuation(movable) : ''
    if (moved !== '') {
      this.append(moved)
      return piece.slice(moved.length)
    }
    this.last = this.last.slice(0, letter > 0xffff ? -2 : -1) + `&#${letter};`
    return piece
  }

  /** Text right after closing marks. */
  protected afterCloser(text: string): string {
    const next = text.codePointAt(0) ?? 0x20
    if (classOf(next) !== 'other') return text
    if (this.closed === 'word') {
      const moved = next > 127 ? lastPunctuation(this.previous) : ''
      if (moved !== '') {
        this.previous = this.previous.slice(0, -moved.length)
        this.last += moved
        return text
      }
    }
    return `&#${next};` + text.slice(next > 0xffff ? 2 : 1)
  }

  /** Ends the block and gives its Markdown. `bracket`: it begins with a bracket of the text's own. */
  protected end(bracket: boolean): string {
    // What is put together of pieces is looked at as little as can be: the first look makes a copy of it.
    const mayEndInSpace = this.last === '' || lastCode(this.last) === NBSP
    this.startsMayMean = this.hasBreaks || isLineStart(this.#first)
    let markdown = this.#done + this.previous + this.last
    if (bracket) markdown = withoutDefinition(markdown)
    if (isInvisible(this.#first) && /^[\s\u200b-\u200d\u2060]+$/.test(markdown)) markdown = ''
    if (this.#first === NBSP) markdown = withFirstSpace(markdown)
    if (mayEndInSpace) markdown = withLastSpace(markdown)
    this.#done = this.previous = this.last = ''
    this.empty = true
    this.marked = this.hasBreaks = false
    this.#first = -1
    this.closed = ''
    return markdown
  }
}

/** Characters that a block without anything to see often begins with: spaces of no width, no-break spaces. */
const isInvisible = (char: number): boolean => char === NBSP || (char >= 0x200b && char <= 0x2060) || char === 0xfeff

/** A block's Markdown such that the no-break space that it may begin with stays. */
const withFirstSpace = (markdown: string): string =>
  codeAt(markdown, 0) === NBSP ? '&nbsp;' + markdown.slice(1) : markdown

/** The same for one that it may end in. */
const withLastSpace = (markdown: string): string =>
  lastCode(markdown) === NBSP && !markdown.endsWith('\\\u00a0') ? markdown.slice(0, -1) + '&nbsp;' : markdown

/** A block's Markdown such that its first bracket begins no task and no definition of a link. CommonMark 0.31.2, 4.7. */
const withoutDefinition = (markdown: string): string =>
  /^\[(?:[ xX]\](?: |$)|[^]*\]:)/.test(markdown) ? '\\' + markdown : markdown
