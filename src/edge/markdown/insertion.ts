import { RawText } from '../../../pipelines/markdown/html/raw-text.js'
import { HEAD_ELEMENTS } from '../../../pipelines/markdown/text/names.js'

/** Bytes that are read at a time, because most pages have their body within the first ones. */
const SLICE = 4096
/** Longer than the name of any element that is not content. */
const MAX_NAME = 12
/** Characters of the attributes of a `link` or `base` that are read. */
const MAX_ATTRIBUTES = 4096

/** Elements whose contents are text. With scripting that includes `noscript`, which is the usual case in browsers. */
const RAW = new Set(['title', 'script', 'style', 'noscript', 'noframes', 'textarea', 'xmp', 'iframe', 'noembed'])
/** A page that begins with one of these is a document, not a part of one. */
const DOCUMENT_STARTS = new Set(['html', 'head', 'title', 'meta'])
/** End tags that begin the body without its start tag. WHATWG HTML, 13.2.6.4.4. */
const BODY_ENDS = new Set(['body', 'html', 'br'])

type Mode = 'start' | 'text' | 'attributes' | 'comment' | 'declaration' | 'instruction' | 'cdata' | 'raw' | 'over'

// States between the name of a tag and its `>`. WHATWG HTML, 13.2.5.32 to 13.2.5.40.
const BEFORE_NAME = 0
const IN_NAME = 1
const AFTER_NAME = 2
const BEFORE_VALUE = 3
const UNQUOTED = 4
const QUOTED = 5

const LESS = 0x3c
const GREATER = 0x3e
const SLASH = 0x2f
const EQUALS = 0x3d

const isSpace = (char: number): boolean =>
  char === 0x20 || char === 0x0a || char === 0x0d || char === 0x09 || char === 0x0c

/** Markup before a position. */
interface Added {
  readonly at: number
  readonly text: string
}

/** Markup to insert, ASCII only. */
export interface Insertions {
  /** For the end of the head. `hasBase`: the page changes the base of relative addresses. */
  readonly link: (hasBase: boolean) => string
  /** For the start of the body. */
  readonly line: string
}

/**
 * Inserts markup at the end of the head and at the start of the body of a page that arrives in pieces. Follows the
 * rules of WHATWG HTML for pages without these tags, and the rules of XML for XHTML. Nothing is inserted into a page that
 * is not a document or links its Markdown itself. Its encoding must extend ASCII.
 *
 * At most a few bytes are buffered. After the start of the body the rest of the page passes unread.
 */
export class Insertion {
  readonly #insertions: Insertions
  readonly #isXml: boolean
  #mode: Mode = 'start'
  /** The end of the last piece, which is read again with the next one. */
  #rest: Buffer = Buffer.alloc(0)
  /** Text to send before the position in the current piece. */
  #added: Added[] = []
  #isDocument = false
  #hasLink = false
  #hasBase = false
  /** Open `template` elements. */
  #templates = 0
  #raw: RawText | undefined
  /** The tag whose attributes are read, the state of reading, and its attributes if they matter. */
  #tag = ''
  #state = BEFORE_NAME
  #quote = ''
  #attributes: string | undefined
  #isSelfClosing = false

  constructor(insertions: Insertions, isXml = false) {
    this.#insertions = insertions
    this.#isXml = isXml
  }

  get #isStopped(): boolean {
    return this.#mode === 'over'
  }

  /** Whether pieces from now on pass unchanged. */
  get isOver(): boolean {
    return this.#mode === 'over' && this.#rest.length === 0
  }

  /** Returns the bytes that can be sent after the next piece, in order. The parts may share the memory of the piece. */
  write(piece: Buffer): Buffer[] {
    const sent: Buffer[] = []
    let at = 0
    while (at < piece.length && !this.#isStopped) {
      const slice = piece.subarray(at, at + SLICE)
      const carried = this.#rest.length
      const { part, upTo } = this.#read(slice, false)
      if (part.length > 0) sent.push(part)
      at += this.#isStopped ? upTo - carried : slice.length
    }
    if (at < piece.length) sent.push(at === 0 ? piece : piece.subarray(at))
    return sent
  }

  /** Returns the rest of the page. */
  end(): Buffer[] {
    if (this.#isStopped) return []
    const { part } = this.#read(EMPTY, true)
    return part.length > 0 ? [part] : []
  }

  /**
   * Reads the next bytes. Returns the bytes that can be sent, and the end of the input in them, counted with the bytes before
   * that are read again.
   */
  #read(slice: Buffer, ended: boolean): { readonly part: Buffer; readonly upTo: number } {
    const carried = this.#rest.length
    const bytes = carried === 0 ? slice : Buffer.concat([this.#rest, slice])
    const text = bytes.toString('latin1')
    let end = this.#scan(text, ended)
    if (ended && this.#mode === 'text' && !this.#isXml) this.#content(text.length)
    const added = this.#added
    if (this.#isStopped) end = Math.max(carried, added.at(-1)?.at ?? 0)
    else if (ended) end = bytes.length
    this.#rest = this.#isStopped || end === bytes.length ? EMPTY : Buffer.from(bytes.subarray(end))
    if (added.length === 0) return { part: bytes.subarray(0, end), upTo: end }
    this.#added = []
    return { part: withAdded(bytes, end, added), upTo: end }
  }

  /** Reads text up to the returned position. Characters after it are read again with more after them. */
  #scan(text: string, ended: boolean): number {
    let at = 0
    for (;;) {
      const from = at
      const { length } = text
      switch (this.#mode) {
        case 'start':
          at = this.#start(text, ended)
          break
        case 'text':
          at = this.#text(text, at, ended)
          break
        case 'attributes':
          at = this.#readAttributes(text, at)
          break
        case 'comment':
          at = this.#past(text, at, this.#isXml ? '-->' : COMMENT_END)
          break
        case 'declaration':
          at = this.#declaration(text, at)
          break
        case 'instruction':
          at = this.#past(text, at, '?>')
          break
        case 'cdata':
          at = this.#past(text, at, ']]>')
          break
        case 'raw':
          at = this.#rawText(text, at, ended)
          break
        case 'over':
          return length
      }
      if (at < 0) return ~at
      if (at === length && from === at && !this.#isStopped) return at
    }
  }

  /** Skips a byte order mark. A page in UTF-16 is not changed. */
  #start(text: string, ended: boolean): number {
    if (text.length < 3 && !ended) return ~0
    this.#mode = /^(?:\xfe\xff|\xff\xfe)/.test(text) ? 'over' : 'text'
    return text.startsWith('\xef\xbb\xbf') ? 3 : 0
  }

  #text(text: string, from: number, ended: boolean): number {
    let at = this.#isDocument ? pastUsual(text, from) : from
    while (at < text.length && isSpace(text.charCodeAt(at))) at++
    if (at === text.length) return at
    if (text.charCodeAt(at) !== LESS) {
      if (!this.#isXml && this.#templates === 0) return this.#content(at)
      const next = text.indexOf('<', at)
      return next < 0 ? text.length : next
    }
    const isEnd = text.charCodeAt(at + 1) === SLASH
    const start = at + (isEnd ? 2 : 1)
    let end = start
    while (end < text.length && end - start <= MAX_NAME && !isNameEnd(text.charCodeAt(end))) end++
    if (end === text.length && !ended) return ~at
    const name = text.slice(start, end)
    if (isLetter(text.charCodeAt(start))) return isEnd ? this.#endTag(name, at, end) : this.#startTag(name, at, end)
    return this.#markup(text, at, ended)
  }

  /** Reads markup that is not a tag, which its first characters show. */
  #markup(text: string, at: number, ended: boolean): number {
    if (text.length - at < '<![CDATA['.length && !ended) return ~at
    if (text.startsWith('<!--', at)) {
      this.#mode = 'comment'
      if (!this.#isXml && text.startsWith('>', at + 4)) return this.#inText(at + 5)
      if (!this.#isXml && text.startsWith('->', at + 4)) return this.#inText(at + 6)
      return at + 4
    }
    if (this.#isXml && text.startsWith('<![CDATA[', at)) {
      this.#mode = 'cdata'
      return at + 9
    }
    if (this.#isXml && text.startsWith('<?', at)) {
      this.#mode = 'instruction'
      return at + 2
    }
    if (/^<!doctype/i.test(text.slice(at, at + 9))) this.#isDocument = true
    else if (!/^<[!?/]/.test(text.slice(at, at + 2)))
      // A `<` that does not begin markup is text.
      return this.#isXml || this.#templates > 0 ? at + 1 : this.#content(at)
    this.#mode = 'declaration'
    return at + 2
  }

  #startTag(written: string, at: number, end: number): number {
    const name = this.#isXml ? written : written.toLowerCase()
    if (!this.#isDocument) {
      if (this.#isXml ? name !== 'html' : !DOCUMENT_STARTS.has(name)) return this.#stop()
      this.#isDocument = true
    }
    if (!this.#isXml && this.#templates === 0 && name !== 'body' && !HEAD_ELEMENTS.has(name)) {
      if (name !== 'frameset') return this.#content(at)
      this.#addLink(at)
      return this.#stop()
    }
    if (name === 'plaintext') return this.#stop()
    if (name === 'body' && this.#templates === 0 && !this.#isXml) this.#addLink(at)
    this.#mode = 'attributes'
    this.#tag = name
    this.#state = BEFORE_NAME
    this.#isSelfClosing = false
    this.#attributes = name === 'link' || name === 'base' ? '' : undefined
    return end
  }

  #endTag(written: string, at: number, end: number): number {
    const name = this.#isXml ? written : written.toLowerCase()
    if (!this.#isDocument) return this.#stop()
    if (this.#templates === 0) {
      if (name === 'head') this.#addLink(at)
      else if (!this.#isXml && BODY_ENDS.has(name)) return this.#content(at)
    } else if (name === 'template') this.#templates--
    this.#mode = 'attributes'
    this.#tag = ''
    this.#state = BEFORE_NAME
    this.#attributes = undefined
    return end
  }

  #readAttributes(text: string, from: number): number {
    // Most tags have nothing unusual, and end within the piece.
    USUAL.lastIndex = from
    if (this.#state === BEFORE_NAME && USUAL.test(text)) {
      const end = USUAL.lastIndex
      if (end - 2 >= from) this.#isSelfClosing = text.charCodeAt(end - 2) === SLASH
      if (this.#attributes !== undefined) this.#attributes += text.slice(from, end - 1)
      return this.#endOfTag(end)
    }
    let at = from
    for (; at < text.length; at++) {
      const char = text.charCodeAt(at)
      if (this.#state === QUOTED) {
        const end = text.indexOf(this.#quote, at)
        at = end < 0 ? text.length - 1 : end
        if (end >= 0) this.#state = BEFORE_NAME
        continue
      }
      if (char === GREATER) break
      this.#isSelfClosing = char === SLASH
      if (isSpace(char)) {
        if (this.#state === IN_NAME) this.#state = AFTER_NAME
        else if (this.#state === UNQUOTED) this.#state = BEFORE_NAME
      } else if (this.#state === UNQUOTED) continue
      else if (this.#state === BEFORE_VALUE) {
        const quote = text.charAt(at)
        this.#state = quote === '"' || quote === "'" ? QUOTED : UNQUOTED
        this.#quote = quote
      } else if (char === SLASH) this.#state = BEFORE_NAME
      else if (char === EQUALS && this.#state !== BEFORE_NAME) this.#state = BEFORE_VALUE
      else this.#state = IN_NAME
    }
    if (this.#attributes !== undefined && this.#attributes.length < MAX_ATTRIBUTES)
      this.#attributes += text.slice(from, at)
    return at === text.length ? at : this.#endOfTag(at + 1)
  }

  /** Continues after the `>` of a tag. */
  #endOfTag(at: number): number {
    const tag = this.#tag
    this.#mode = 'text'
    const attributes = this.#attributes ?? ''
    if (tag === 'body' && this.#templates === 0) {
      if (!(this.#isXml && this.#isSelfClosing)) this.#add(at, this.#insertions.line)
      return this.#stop(at)
    }
    if (tag === 'base') this.#hasBase ||= /(?:^|[\s/"'])href\s*=/i.test(attributes)
    else if (tag === 'link') {
      // Nothing will be inserted.
      if (MARKDOWN.test(attributes) && /alternate/i.test(attributes)) return this.#stop(at)
    } else if (tag === 'template' && !this.#isXml) this.#templates++
    else if (RAW.has(tag) && !this.#isXml) {
      this.#mode = 'raw'
      this.#raw = new RawText(tag, tag === 'script')
    }
    return at
  }

  #rawText(text: string, at: number, ended: boolean): number {
    const raw = this.#raw!
    if (!raw.find(text, at, ended)) return ~raw.end
    this.#mode = 'text'
    // The end tag, which is read for its attributes.
    return raw.end
  }

  /** Continues after a comment, a section or an instruction. */
  #past(text: string, at: number, end: string | RegExp): number {
    const found = typeof end === 'string' ? endOf(text, at, end) : endOfMatch(text, at, end)
    return found < 0 ? ~Math.max(at, text.length - 3) : this.#inText(found)
  }

  /** Continues after the `>` of a doctype or of markup that reads as a comment. */
  #declaration(text: string, at: number): number {
    const end = text.indexOf('>', at)
    // The internal subset of a doctype may contain markup.
    if (this.#isXml && text.slice(at, end < 0 ? undefined : end).includes('[')) return this.#stop()
    return end < 0 ? text.length : this.#inText(end + 1)
  }

  #inText(at: number): number {
    this.#mode = 'text'
    return at
  }

  /** The body begins at a position, without its tag. */
  #content(at: number): number {
    if (this.#isDocument) {
      this.#addLink(at)
      this.#add(at, this.#insertions.line)
    }
    return this.#stop(at)
  }

  #addLink(at: number): void {
    if (this.#hasLink) return
    this.#hasLink = true
    this.#add(at, this.#insertions.link(this.#hasBase))
  }

  #add(at: number, text: string): void {
    this.#added.push({ at, text })
  }

  #stop(at = 0): number {
    this.#mode = 'over'
    return at
  }
}

/** Returns the first bytes with markup at some positions. */
function withAdded(bytes: Buffer, end: number, added: readonly Added[]): Buffer {
  const whole = Buffer.allocUnsafe(added.reduce((sum, { text }) => sum + text.length, end))
  let [from, to] = [0, 0]
  for (const { at, text } of added) {
    to += bytes.copy(whole, to, from, at)
    to += whole.write(text, to, 'latin1')
    from = at
  }
  bytes.copy(whole, to, from, end)
  return whole
}

const EMPTY: Buffer = Buffer.alloc(0)

const COMMENT_END = /--!?>/g

/** A row of elements of the head, as they are usually written, which matter only if they name Markdown. */
const USUAL_ROW =
  /(?:[\t\n\f\r ]*<(?:meta|link)(?:[\t\n\f\r ]+[^\s"'<>/=]+(?:=(?:"[^"]*"|'[^']*'|[^\s"'=<>`/]+))?)*[\t\n\f\r ]*\/?>)+/iy
const MARKDOWN = /text\/markdown/i

/** Returns the position after a row of usual elements, or `from`. */
function pastUsual(text: string, from: number): number {
  USUAL_ROW.lastIndex = from
  if (!USUAL_ROW.test(text)) return from
  const end = USUAL_ROW.lastIndex
  return MARKDOWN.test(text.slice(from, end)) ? from : end
}

/** Attributes and the end of a tag, as they are usually written. */
const USUAL = /(?:[\t\n\f\r ]+[^\s"'<>/=]+(?:=(?:"[^"]*"|'[^']*'|[^\s"'=<>`/]+))?)*[\t\n\f\r ]*\/?>/y

const isLetter = (char: number): boolean => (char | 0x20) >= 0x61 && (char | 0x20) <= 0x7a

const isNameEnd = (char: number): boolean => char === GREATER || char === SLASH || isSpace(char)

function endOf(text: string, at: number, end: string): number {
  const found = text.indexOf(end, at)
  return found < 0 ? -1 : found + end.length
}

function endOfMatch(text: string, at: number, end: RegExp): number {
  end.lastIndex = at
  return end.test(text) ? end.lastIndex : -1
}
