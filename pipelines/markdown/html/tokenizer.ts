import { part } from '../text/characters.js'
import { readDoctype } from './doctype.js'
import { decodePart, decodeText, maySpace, unfinishedReference } from './entities.js'
import type { Events, Tokenizer } from '../text/events.js'
import { LineEnds, withLineFeeds } from './line-ends.js'
import { elementNamed, matches, type Content } from '../text/names.js'
import { OpenElements } from './open-elements.js'
import { pageScanner } from './page-scanner.js'
import { RawText } from './raw-text.js'
import { OpenTag } from './tag.js'
import {
  FOREIGN,
  RETURNS,
  START_TAG,
  STOP_DECLARATION,
  STOP_END,
  STOP_TAG,
  TEXT,
  TEXT_FROM,
  TEXT_TO,
  TEXT_TRAITS,
  TOKEN_SIZE,
  TOKENS,
} from '../scanner/layout.js'
import { TextScan, traitsOf } from './text-scan.js'
import {
  AMPERSAND,
  BLANK,
  INNER_SPACE,
  NOTHING,
  NUL,
  OUTER_SPACE,
  SPACE_AFTER,
  SPACE_BEFORE,
  SPECIALS,
} from '../text/text-traits.js'
import { decodeUtf8Text, startOfCharacter } from './utf8-text.js'

/** State of the next character of the page, which is in an element's contents or in a comment. */
type Mode = Content | 'comment' | 'bogus comment'

/** An unfinished tag longer than this is read again only when twice as much is there, so small pieces cost no more. */
const RETRY_LENGTH = 128

/** Characters per read, so that their code units stay in a near cache. */
const PIECE = 65_536

/** Maximum length of an unfinished token that is joined with only a part of the next text. */
const CARRIED = 1024

// Local names for numbers of other modules. They become part of the compiled code, and are not looked up at each use.
/** Where the first token is. */
const FIRST = TOKENS / 4
const SIZE = TOKEN_SIZE
const IS_TEXT = TEXT
const IS_START = START_TAG
const FROM = TEXT_FROM
const TO = TEXT_TO
const TRAITS = TEXT_TRAITS
/** Traits with which a text is not a part of the page, beside FOREIGN if that is UTF-8. */
const NOT_PLAIN = BLANK | NUL | AMPERSAND | INNER_SPACE
/** Traits of a text without white space around it that are reported. */
const REPORTED = SPECIALS | AMPERSAND | SPACE_BEFORE | SPACE_AFTER

/** Characters that may be bytes of UTF-8. */
const FOREIGN_TEXT = /[\u0080-\u00ff]/

const EXCLAMATION = 0x21
const GREATER = 0x3e
const DASH = 0x2d
const QUESTION = 0x3f
const RETURN = 0x0d

const mayBeHalf = (char: number) => (char >= 0xd800 && char <= 0xdbff) || char === RETURN

/**
 * Tokenizer of the WHATWG HTML standard (13.2.5), in one pass and without a tree. The pass that finds the end of a text
 * finds its traits too. Scripting counts as off, so `noscript` holds markup.
 *
 * NUL in text is dropped if a browser drops it (in HTML content) and is U+FFFD elsewhere. Line ends are `\n`. Only the
 * unfinished token is kept between two calls. In the worst case it is the whole text written so far.
 */
export class HtmlTokenizer implements Tokenizer {
  readonly #events: Events
  readonly #tag = new OpenTag()
  readonly #scan = new TextScan()
  /** Line ends of a text that is reported as it is. In other text they are white space of any kind. */
  readonly #lineEnds = new LineEnds()
  readonly #elements = new OpenElements(elementNamed('table'), elementNamed('template'))

  /** Unread text, with the start of an unfinished token. */
  #unread = ''
  /** The part of `#unread` that is being read, from `#at` on. */
  #html = ''
  readonly #scanner = pageScanner()
  #units: Uint8Array = this.#scanner.units
  #at = 0
  /** Whether unread text is UTF-8 with one character for each byte. Each text is decoded when it is reported. */
  #isUtf8 = false
  /** Traits with which a text is not a part of the page. */
  #notPlain = NOT_PLAIN
  #isStarted = false
  #mode: Mode
  #raw: RawText
  /** Whether the element whose raw text is being read was wanted. */
  #rawWanted = true
  #comment = ''
  /** No character of the comment is read yet: `>` and `->` end it. */
  #commentStarts = false

  /** The last character, if it may be the first half of a character or of a line end. */
  #half = ''
  #readAgainAt = 0

  /** `within` is the element whose contents the page begins in, for a page that is the inside of one element. */
  constructor(events: Events, within: { content: Content; element: string } = { content: 'data', element: '' }) {
    this.#events = events
    this.#mode = within.content
    this.#raw = new RawText(within.element, within.content === 'script')
  }

  write(text: string, isUtf8 = false): void {
    if (isUtf8 !== this.#isUtf8) this.#decodeFromHere(isUtf8)
    this.#isStarted = true
    const all = this.#half + text
    if (all === '') return
    const isHalf = mayBeHalf(all.charCodeAt(all.length - 1))
    this.#half = isHalf ? all.slice(-1) : ''
    const more = isHalf ? all.slice(0, -1) : all
    if (this.#unread.length + more.length >= this.#readAgainAt) this.#read(more, false)
    else this.#unread += more
  }

  /** Begins to read UTF-8, at the start of the page, or text. */
  #decodeFromHere(isUtf8: boolean): void {
    if (isUtf8 && this.#isStarted) throw new RangeError('text cannot be followed by UTF-8')
    this.#isUtf8 = isUtf8
    this.#notPlain = isUtf8 ? NOT_PLAIN | FOREIGN : NOT_PLAIN
    this.#unread = decodeUtf8Text(this.#unread)
  }

  end(): void {
    this.#read(this.#half, true)
    if (this.#mode === 'comment' || this.#mode === 'bogus comment') this.#endComment()
    this.#unread = this.#html = ''
    this.#tag.clear()
  }

  #read(more: string, ended: boolean): void {
    // A short unfinished token is read with a small part of the next text, so that the rest is not copied.
    const start = more.length > 2 * CARRIED && this.#unread.length <= CARRIED ? this.#unread : ''
    const text = start === '' ? this.#unread + more : more
    let from = -start.length
    let to = 0
    let size = start === '' ? PIECE : 2 * CARRIED
    do {
      to = Math.min(from + size, text.length)
      if (to < text.length && this.#isUtf8) to = startOfCharacter(text, to)
      if (to < text.length && mayBeHalf(text.charCodeAt(to - 1))) to--
      this.#html = from < 0 ? start.slice(from) + text.slice(0, to) : text.slice(from, to)
      this.#scanner.fill(this.#html, this.#isUtf8)
      this.#units = this.#scanner.units
      this.#tag.within(this.#html, this.#isUtf8)
      this.#at = 0
      while (this.#step(ended && to === text.length));
      from += this.#at
      // A token that is longer than the piece is read again with more text after it.
      size = this.#at === 0 ? size * 2 : PIECE
    } while (to < text.length)
    this.#unread = from < 0 ? start.slice(from) + text : text.slice(from)
    this.#readAgainAt = this.#unread.length > RETRY_LENGTH ? this.#unread.length * 2 : 0
  }

  /** Reads on in the current mode. Returns whether another mode begins. If not, nothing is left to read. */
  #step(ended: boolean): boolean {
    switch (this.#mode) {
      case 'data':
        return this.#data(ended)
      case 'rcdata':
      case 'rawtext':
      case 'script':
        return this.#rawText(ended)
      case 'plaintext':
        this.#plainText(this.#at, this.#html.length)
        this.#at = this.#html.length
        return false
      case 'cdata':
        return this.#cdata(ended)
      case 'comment':
        return this.#readComment(ended)
      case 'bogus comment':
        return this.#readBogusComment()
    }
  }

  #data(ended: boolean): boolean {
    const scanner = this.#scanner
    const { table } = scanner
    for (;;) {
      const end = FIRST + scanner.scan(this.#at, this.#html.length) * SIZE
      this.#at = scanner.stopAt
      // Only the last tag can have contents that read in another mode.
      if (this.#report(table, end)) return true
      switch (scanner.stop) {
        case STOP_END:
          this.#lastText(this.#at, scanner.stopLess, ended)
          return false
        case STOP_TAG:
          return this.#wait(this.#at, ended)
        case STOP_DECLARATION:
          return this.#declaration(this.#at, ended)
        default:
      }
    }
  }

  /** Reports the tokens that were scanned. Returns whether the contents of the last one read in another mode. */
  #report(table: Int32Array, end: number): boolean {
    const tag = this.#tag
    const elements = this.#elements
    const events = this.#events
    for (let token = FIRST; token < end; token += SIZE) {
      const kind = table[token]
      if (kind === IS_TEXT) {
        if (!elements.skipping) this.#text(table, token)
      } else {
        tag.take(table, token)
        if (kind === IS_START) {
          if (this.#opened()) return true
        } else if (elements.close(tag)) events.close(tag.name, tag.id, elements.isStray)
      }
    }
    return false
  }

  /**
   * Waits for the rest of the markup at `at`. Unfinished markup at the end of the page is not a token and is dropped.
   */
  #wait(at: number, ended: boolean): false {
    this.#at = ended ? this.#html.length : at
    return false
  }

  /** An open tag was read. Returns whether its contents read in another mode. */
  #opened(): boolean {
    const tag = this.#tag
    const elements = this.#elements
    const hasContents = elements.open(tag)
    const element = tag.element
    const content = element === undefined || elements.openedForeign ? 'data' : element.content
    const skipping = elements.skipping
    const wanted = (!skipping || content === 'script') && this.#events.open(tag) === undefined
    if (element !== undefined && content !== 'data') {
      this.#mode = content
      this.#raw = new RawText(element.name, content === 'script')
      this.#rawWanted = wanted
      return true
    }
    if (!wanted && !skipping && hasContents) elements.skip(tag)
    return false
  }

  /**
   * Reads markup that begins with `<!`, `<?` or `</` and is not an end tag. It is a comment, a doctype, a CDATA
   * section, or markup that reads as a comment up to the next `>`. WHATWG HTML, 13.2.5.42.
   */
  #declaration(at: number, ended: boolean): boolean {
    const html = this.#html
    const start = at + 2
    this.#comment = ''
    if (html.charCodeAt(at + 1) !== EXCLAMATION) {
      this.#mode = 'bogus comment'
      this.#at = html.charCodeAt(at + 1) === QUESTION ? at + 1 : start
      return true
    }
    if (html.startsWith('--', start)) {
      this.#mode = 'comment'
      this.#commentStarts = true
      this.#at = start + 2
      return true
    }
    if (html.length - start < 'doctype'.length && !ended) return this.#wait(at, false)
    if (matches(html, start, 'doctype')) return this.#doctype(at, start + 'doctype'.length, ended)
    if (this.#elements.foreign && html.startsWith('[CDATA[', start)) {
      this.#mode = 'cdata'
      this.#at = start + '[CDATA['.length
      return true
    }
    this.#mode = 'bogus comment'
    this.#at = start
    return true
  }

  #doctype(at: number, start: number, ended: boolean): boolean {
    const end = this.#html.indexOf('>', start)
    if (end < 0 && !ended) return this.#wait(at, false)
    if (this.#events.doctype !== undefined && !this.#elements.skipping) {
      const text = withLineFeeds(this.#slice(start, end < 0 ? this.#html.length : end)).replaceAll('\0', '\ufffd')
      const { name, publicId, systemId, quirks } = readDoctype(text, end < 0)
      this.#events.doctype(name, publicId, systemId, quirks)
    }
    this.#at = end < 0 ? this.#html.length : end + 1
    return true
  }

  #readComment(ended: boolean): boolean {
    const html = this.#html
    let from = this.#at
    if (this.#commentStarts) {
      const empty = html.startsWith('>', from) ? 1 : html.startsWith('->', from) ? 2 : 0
      if (empty > 0) return this.#finishComment(from, from + empty)
      if (html.length - from < 2 && !ended) return false
      this.#commentStarts = false
    }
    for (let dashes = html.indexOf('--', from); dashes >= 0; dashes = html.indexOf('--', from)) {
      let at = dashes + 2
      while (html.charCodeAt(at) === DASH) at++
      const char = html.charCodeAt(at)
      if (char === GREATER) return this.#finishComment(at - 2, at + 1)
      if (char === EXCLAMATION && html.charCodeAt(at + 1) === GREATER) return this.#finishComment(at - 2, at + 2)
      from = at
    }
    if (ended) {
      const rest = html.slice(this.#at)
      const cut = rest.endsWith('--!') ? 3 : rest.endsWith('--') ? 2 : rest.endsWith('-') ? 1 : 0
      this.#keepComment(html.length - cut, html.length)
    } else {
      // The first three characters of `--!>` may be at the very end.
      const end = this.#certain(html.length - 3)
      this.#keepComment(end, end)
    }
    return false
  }

  #readBogusComment(): boolean {
    const end = this.#html.indexOf('>', this.#at)
    if (end >= 0) return this.#finishComment(end, end + 1)
    this.#keepComment(this.#html.length, this.#html.length)
    return false
  }

  #keepComment(end: number, next: number): void {
    if (this.#events.comment !== undefined && !this.#elements.skipping) {
      this.#comment += this.#slice(this.#at, end)
    }
    this.#at = next
  }

  #finishComment(end: number, next: number): true {
    this.#keepComment(end, next)
    this.#endComment()
    this.#mode = 'data'
    return true
  }

  #endComment(): void {
    if (!this.#elements.skipping) this.#events.comment?.(withLineFeeds(this.#comment).replaceAll('\0', '\ufffd'))
    this.#comment = ''
  }

  #rawText(ended: boolean): boolean {
    const html = this.#html
    const raw = this.#raw
    const start = this.#at
    const found = raw.find(html, start, ended)
    if (!found && raw.end < html.length) raw.end = this.#certain(raw.end)
    if (this.#rawWanted) {
      if (this.#mode !== 'rcdata') this.#plainText(start, raw.end)
      else if (found || raw.end < html.length) this.#rcdata(start, raw.end)
      else {
        this.#at = ended ? html.length : unfinishedReference(html, start)
        this.#rcdata(start, this.#at)
        return false
      }
    }
    this.#at = raw.end
    if (!found) return false
    this.#lineEnds.reset()

    const end = this.#tag.read(raw.end + 2)
    if (end < 0) return this.#wait(raw.end, ended)
    this.#mode = 'data'
    this.#at = end
    if (this.#rawWanted) this.#events.close(this.#tag.name, this.#tag.id)
    return true
  }

  #cdata(ended: boolean): boolean {
    const html = this.#html
    const end = html.indexOf(']]>', this.#at)
    if (end >= 0) {
      if (!this.#elements.skipping) this.#plainText(this.#at, end)
      this.#lineEnds.reset()
      this.#mode = 'data'
      this.#at = end + 3
      return true
    }
    const certain = ended ? html.length : this.#certain(html.length - 2)
    if (!this.#elements.skipping) this.#plainText(this.#at, certain)
    this.#at = certain
    return false
  }

  /**
   * Reports the text from `start` to the end of the available text, except a `<` or a character reference that may
   * continue.
   */
  #lastText(start: number, less: number, ended: boolean): void {
    const html = this.#html
    const end = ended ? html.length : less < html.length ? less : unfinishedReference(html, start)
    this.#at = end
    if (start === end || this.#elements.skipping) return
    this.#scanner.scanText(start, end)
    this.#text(this.#scanner.table, FIRST)
  }

  #text(table: Int32Array, token: number): void {
    const traits = table[token + TRAITS] as number
    const events = this.#events
    if ((traits & this.#notPlain) === 0 && events.collapses === true) {
      const plain = part(this.#html, table[token + FROM] as number, table[token + TO] as number)
      events.text(plain, traits & REPORTED)
      return
    }
    const scan = this.#scan
    scan.take(table, token)
    const { start, end } = scan
    if ((traits & NUL) !== 0 || ((traits & AMPERSAND) !== 0 && maySpace(this.#units, scan.from, scan.to))) {
      const text = decodeText(withLineFeeds(this.#slice(start, end)))
      this.#reportText(text.replaceAll('\0', this.#elements.foreign ? '\ufffd' : ''))
    } else if (events.collapses !== true) {
      const kept = traits & (SPECIALS | AMPERSAND | INNER_SPACE | BLANK)
      events.text(this.#decoded(start, end), kept | scan.outerSpace)
    } else if (scan.from === scan.to) events.text(' ', BLANK | OUTER_SPACE)
    else events.text(this.#collapsed(), traits & REPORTED)
  }

  /** Returns the text that was scanned, decoded and without extra white space. */
  #collapsed(): string {
    const html = this.#html
    const units = this.#units
    const scan = this.#scan
    const foreign = this.#isUtf8 ? FOREIGN : NOTHING
    const hasReferences = (scan.traits & AMPERSAND) !== 0
    if (hasReferences && (scan.traits & (INNER_SPACE | foreign)) === 0)
      return decodePart(html, units, scan.from, scan.to)
    const text = scan.collapsed(html, units, foreign) ?? decodeUtf8Text(scan.collapsed(html, units, NOTHING) as string)
    return hasReferences ? decodeText(text) : text
  }

  /** Returns the text between two positions, which was scanned, with its characters of UTF-8 and its references decoded. */
  #decoded(start: number, end: number): string {
    const { traits } = this.#scan
    const hasReturns = (traits & RETURNS) !== 0
    const isForeign = (traits & FOREIGN) !== 0 && this.#isUtf8
    if (!hasReturns && !isForeign && (traits & AMPERSAND) !== 0) return decodePart(this.#html, this.#units, start, end)
    const raw = part(this.#html, start, end)
    const text = hasReturns ? withLineFeeds(raw) : raw
    const decoded = isForeign ? decodeUtf8Text(text) : text
    return (traits & AMPERSAND) === 0 ? decoded : decodeText(decoded)
  }

  /** Returns the part between two positions, decoded. */
  #slice(start: number, end: number): string {
    const slice = this.#html.slice(start, end)
    return this.#isUtf8 && FOREIGN_TEXT.test(slice) ? decodeUtf8Text(slice) : slice
  }

  /** Returns `at`, or the start of the unread text or of the character at `at` if that is uncertain. */
  #certain(at: number): number {
    return Math.max(this.#at, this.#isUtf8 ? startOfCharacter(this.#html, at) : at)
  }

  #rcdata(start: number, end: number): void {
    const slice = this.#lineEnds.read(this.#slice(start, end))
    this.#reportText((slice.includes('&') ? decodeText(slice) : slice).replaceAll('\0', '\ufffd'))
  }

  #plainText(start: number, end: number): void {
    this.#reportText(this.#lineEnds.read(this.#slice(start, end)).replaceAll('\0', '\ufffd'))
  }

  #reportText(text: string): void {
    if (text !== '') this.#events.text(text, traitsOf(text))
  }
}
