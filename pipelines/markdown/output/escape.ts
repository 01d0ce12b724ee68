import {
  classOf,
  codeAt,
  holds,
  isAsciiPunctuation,
  lastCodePoint,
  lengthOf,
  part,
  type CharacterClass,
} from '../text/characters.js'

/** Characters that may have to be escaped inside text. */
const SPECIAL = /[\\`*_~<&[\]]/g
const ENTITY = /&(?:#(?:\d{1,7}|[xX][\da-fA-F]{1,6})|[A-Za-z][A-Za-z\d]{1,31});/y
const TAG_START = /[A-Za-z/!?]/
/** CommonMark 0.31.2, 6.5. */
const MAIL = /<[\w.!#$%&'*+/=?^`{|}~-]+@[A-Za-z\d.-]+>/y

/** Maximum characters of text that are escaped together. More would block the event loop. */
const MAX_TEXT = 65_536

/** Characters after a text that may decide the meaning of its last characters, for example in a character reference. */
const AHEAD = 1024

/** Returns how many characters of a text are escaped before the rest arrives. 0 if the text is not long. */
export function escapableLength(text: string): number {
  const length = lengthOf(text)
  if (length <= MAX_TEXT) return 0
  const end = length - AHEAD
  const isLowSurrogate = (codeAt(text, end) & 0xfc00) === 0xdc00
  return isLowSurrogate ? end + 1 : end
}

/** Neighbours of a piece of text that affect escaping. */
export interface EscapeContext {
  /** Class of the character before it, or `mark` right after generated Markdown. */
  before: CharacterClass | 'mark'
  /** Whether white space follows. If not, generated Markdown may. */
  spaceAfter: boolean
  /** Inside the text of a link, in which brackets have to be balanced. */
  inLink: boolean
  /** Inside struck-out text, which a single `~` could end. */
  inStrike: boolean
}

/** Returns whether a link's text can have the brackets of its first `length` characters unescaped. */
function bracketsAreSafe(text: string, length: number): boolean {
  let depth = 0
  for (let at = 0; at < length; at++) {
    const char = codeAt(text, at)
    if (char === 0x5b) depth++
    else if (char === 0x5d && (--depth < 0 || text.charCodeAt(at + 1) === 0x28)) return false
  }
  return depth === 0
}

/**
 * Escapes each character that would be read as inline Markdown, and no other. `2 * 3`, `snake_case`, `a[0]` and `AT&T`
 * are unchanged. Returns the first `length` characters of `text`. Later characters only decide the meaning of these.
 */
export function escapeInline(text: string, context: EscapeContext, length = lengthOf(text)): string {
  // `search` would create an object for each match.
  SPECIAL.lastIndex = 0
  const first = SPECIAL.test(text) ? SPECIAL.lastIndex - 1 : -1
  if (first < 0 || first >= length) return length === lengthOf(text) ? text : part(text, 0, length)

  const parts: string[] = []
  let done = 0
  let safe: boolean | undefined
  const escape = (at: number) => {
    parts.push(part(text, done, at))
    done = at
  }
  for (let at = first; at < length; at++) {
    const char = codeAt(text, at)
    switch (char) {
      case 0x60: // `
        escape(at)
        break

      case 0x2a: // *
      case 0x5f: // _
      case 0x7e: {
        let end = at + 1
        while (end < length && codeAt(text, end) === char) end++
        if (delimits(text, char, at, end, context)) for (let each = at; each < end; each++) escape(each)
        at = end - 1
        break
      }

      case 0x5c: {
        const next = at + 1 < lengthOf(text) ? codeAt(text, at + 1) : context.spaceAfter ? 0x20 : char
        if (!isAsciiPunctuation(next)) break
        escape(at)
        break
      }

      case 0x3c: // <
        MAIL.lastIndex = at
        if (at + 1 === lengthOf(text) ? !context.spaceAfter : TAG_START.test(text.charAt(at + 1)) || MAIL.test(text))
          escape(at)
        break

      case 0x26: // &
        ENTITY.lastIndex = at
        if (ENTITY.test(text)) escape(at)
        break

      case 0x5b: // [
      case 0x5d: // ]
        if (context.inLink) {
          safe ??= bracketsAreSafe(text, length)
          if (!safe) escape(at)
        } else if (char === 0x5d ? text.charCodeAt(at + 1) === 0x28 : isFootnote(text, at)) escape(at)
        break

      default:
    }
  }
  if (parts.length === 0) return length === lengthOf(text) ? text : part(text, 0, length)
  parts.push(part(text, done, length))
  return parts.join('\\')
}

const FOOTNOTE = /\[\^\w{1,20}\]/y

/** Returns whether a bracket begins text that would be read as the mark of a footnote. */
function isFootnote(text: string, at: number): boolean {
  if (text.charCodeAt(at + 1) !== 0x5e) return false
  FOOTNOTE.lastIndex = at
  return FOOTNOTE.test(text)
}

/** Returns whether the `*`, `_` or `~` from `at` to `end` could open or close something. CommonMark 0.31.2, 6.2. */
function delimits(text: string, char: number, at: number, end: number, context: EscapeContext): boolean {
  if (end === lengthOf(text) && !context.spaceAfter) return true
  if (at === 0 && context.before === 'mark') return true
  const before =
    at === 0 ? (context.before as CharacterClass) : classOf(lastCodePoint(text.slice(Math.max(0, at - 2), at)))
  const after = end === lengthOf(text) ? 'space' : classOf(text.codePointAt(end) ?? 0x20)
  if (char === 0x7e && end - at === 1) return before !== 'space' || context.inStrike

  const opens = after !== 'space' && (after === 'other' || before !== 'other')
  const closes = before !== 'space' && (before === 'other' || after !== 'other')
  if (char !== 0x5f) return opens || closes
  return (opens && (!closes || before === 'punctuation')) || (closes && (!opens || after === 'punctuation'))
}

const LINE_STARTS = new Uint8Array(128)
for (const char of '>#+*-_=|:~0123456789') LINE_STARTS[char.charCodeAt(0)] = 1

/** Returns whether `escapeStarts` may change a line that begins with this character. */
export const isLineStart = (char: number): boolean => char < 128 && LINE_STARTS[char] === 1

/**
 * Escapes a paragraph's Markdown so that none of its lines begins a list, a heading, a quote, a rule or the like. With
 * `isOneLine` it is known to be one line.
 */
export function escapeStarts(markdown: string, isOneLine = false): string {
  if (isOneLine || !holds(markdown, '\n')) return escapeStart(markdown)
  return markdown
    .split('\n')
    .map((line, index) => escapeStart(line, index > 0))
    .join('\n')
}

/** Escapes the start of a line. Some starts have a meaning only below another line (`isBelow`). */
function escapeStart(line: string, isBelow = false): string {
  const first = line.charCodeAt(0)
  if (first > 0x7e) return line
  switch (first) {
    case 0x3e: // >
      return '\\' + line
    case 0x23: // #
      return /^#{1,6}(?: |$)/.test(line) ? '\\' + line : line
    case 0x2b: // +
      return /^\+(?: |$)/.test(line) ? '\\' + line : line
    case 0x2a: // *
      return /^\*(?: |$|[* ]*$)/.test(line) ? '\\' + line : line
    case 0x2d: // -
      return /^-(?: |$|[-|: ]*$)/.test(line) ? '\\' + line : line
    case 0x5f: // _
      return /^[_ ]+$/.test(line) ? '\\' + line : line
    case 0x7e: // ~
      return line.startsWith('~~~') ? '\\' + line : line
    case 0x3d: // =
      return isBelow && /^=+ *$/.test(line) ? '\\' + line : line
    case 0x7c: // |
    case 0x3a: // :
      return isBelow && /^[-|: ]+$/.test(line) && line.includes('-') ? '\\' + line : line
    default:
      return first >= 0x30 && first <= 0x39 ? line.replace(/^(\d{1,9})([.)])(?= |$)/, '$1\\$2') : line
  }
}

/** Maximum depth of nested parentheses that Markdown parsers follow. */
export const MAX_PARENTHESES = 30

/**
 * Returns the destination and title of a link or image, from the `](` to the `)`. A `plain` url and a `plainTitle` need no
 * escapes.
 */
export function destination(url: string, title?: string, plain = false, plainTitle = false): string {
  let target = plain || isTarget(url) ? url : escapeUrl(url)
  if (title === undefined || title === '') return `](${target})`
  if (target === '') target = '<>'
  if (plainTitle || !/[\\"&\r\n]/.test(title)) return `](${target} "${title}")`
  const text = title
    .replace(/\\(?=[!-/:-@[-`{-~]|$)/g, '\\\\')
    .replaceAll('"', '\\"')
    .replace(/&(?=[#A-Za-z\d]+;)/g, '\\&')
    .replace(/\r\n?|\n/g, '&#10;')
  return `](${target} "${text}")`
}

/**
 * Returns whether an address needs no escapes. It is also false for some such addresses, for example with non-ASCII
 * characters.
 */
function isTarget(url: string): boolean {
  let depth = 0
  let hasReference = false
  const length = lengthOf(url)
  for (let at = 0; at < length; at++) {
    const char = codeAt(url, at)
    switch (char) {
      case 0x28: // (
        if (++depth > MAX_PARENTHESES) return false
        break
      case 0x29: // )
        if (--depth < 0) return false
        break
      case 0x26: // &
        hasReference = true
        break
      case 0x3b: // ;
        if (hasReference) return false
        break
      case 0x3c: // <
      case 0x3e: // >
      case 0x5c: // \
        return false
      default:
        if (char <= 0x20 || char >= 0x7f) return false
    }
  }
  return depth === 0
}

function escapeUrl(url: string): string {
  const encoded = url
    // oxlint-disable-next-line no-control-regex
    .replace(/[\s\x00-\x1f\x7f<>]/g, (char) => encodeURIComponent(char))
    .replace(/\\/g, '%5C')
    .replace(/&(?=[#A-Za-z\d]+;)/g, '\\&')
  return !/[()]/.test(encoded) || parenthesesAreBalanced(encoded) ? encoded : encoded.replace(/[()]/g, '\\$&')
}

function parenthesesAreBalanced(url: string): boolean {
  let depth = 0
  const { length } = url
  for (let at = 0; at < length; at++) {
    const char = codeAt(url, at)
    if (char === 0x28 && ++depth > MAX_PARENTHESES) return false
    if (char === 0x29 && --depth < 0) return false
  }
  return depth === 0
}

/** Returns a code span that contains exactly `code`, with line breaks read as spaces. */
export function codeSpan(code: string): string {
  if (!/[\r\n`]|^ /.test(code)) return '`' + code + '`'
  const text = /[\r\n]/.test(code) ? code.replace(/\r\n?|\n/g, ' ') : code
  if (!text.includes('`')) return needsPadding(text) ? '` ' + text + ' `' : '`' + text + '`'
  const lengths = new Set<number>()
  for (const [run] of text.matchAll(/`+/g)) lengths.add(run.length)
  let length = 1
  while (lengths.has(length)) length++
  const fence = '`'.repeat(length)
  const pad = text.startsWith('`') || text.endsWith('`') || needsPadding(text) ? ' ' : ''
  return fence + pad + text + pad + fence
}

/**
 * Returns whether a code span needs padding. One space is removed at both ends unless there are only spaces (CommonMark
 * 0.31.2, 6.1).
 */
const needsPadding = (text: string) => text.startsWith(' ') && text.endsWith(' ') && /[^ ]/.test(text)

/** Returns the fence for a block that holds `text`. It has more backticks than any run in `text`. */
export function fenceFor(text: string): string {
  let longest = 0
  for (let at = text.indexOf('`'); at >= 0;) {
    let end = at + 1
    while (text.charCodeAt(end) === 0x60) end++
    longest = Math.max(longest, end - at)
    at = text.indexOf('`', end)
  }
  return '`'.repeat(Math.max(3, longest + 1))
}
