import { classOf, codeAt, lengthOf, part } from './characters.js'

/** What an inline element is written as; `plain` leaves no trace. */
export type Kind = 'emphasis' | 'strong' | 'strike' | 'markup' | 'link' | 'code' | 'plain'

/** Where a link leads, as it is to be written. */
export interface Link {
  url: string
  /** Nothing in `url` needs escapes. */
  plain: boolean
  title: string | undefined
  /** What it is called where it holds nothing that can be read, such as an icon. */
  name: string | undefined
  /** The link is left out if this matches its text: it serves the mouse or the keyboard, not the reader. */
  noise?: RegExp | undefined
}

/** An inline element that is open. */
export interface Format {
  readonly kind: Kind
  /** Of the element, to find it at its end tag. */
  readonly name: string
  /** What opens and closes it in Markdown; for emphasis it is chosen when it is written. */
  mark: string
  readonly link: Link | undefined
  /** How many blocks began or ended inside a link. */
  blocks: number
  /** The text of a link as long as it holds nothing but one piece of text. */
  only: string | undefined
  pieces: number
}

/** One that has just been opened. */
export const newFormat = (kind: Kind, name: string, mark: string, link: Link | undefined): Format => ({
  kind,
  name,
  mark,
  link,
  blocks: 0,
  only: undefined,
  pieces: 0,
})

/** White space at the end of a text, that of Unicode included. */
export function trailingSpaces(text: string): string {
  const length = lengthOf(text)
  let at = length
  while (at > 0 && classOf(codeAt(text, at - 1)) === 'space') at--
  return at === length ? '' : part(text, at, length)
}

/** Text that marks come to stand behind, though white space did when it was escaped. */
export function sealed(text: string): string {
  if (/[*_~]$/.test(text)) return text.replace(/\\?(.)$/, '\\$1')
  let at = text.length
  while (at > 0 && text.charCodeAt(at - 1) === 0x5c) at--
  return (text.length - at) % 2 === 1 ? text + '\\' : text
}

/** Whether `<text>` is read as a link to `url`. CommonMark 0.31.2, 6.5. */
export function isAutolink(url: string, text: string): boolean {
  if (text === url) return /^[A-Za-z][A-Za-z\d+.-]{1,31}:[^\s<>]*$/.test(url)
  if (url.length !== text.length + 'mailto:'.length) return false
  return url === `mailto:${text}` && /^[\w.!#$%&'*+/=?^`{|}~-]+@[A-Za-z\d](?:[A-Za-z\d.-]*[A-Za-z\d])?$/.test(text)
}

/**
 * Chooses the mark of `formats[at]` where its kind leaves a choice. `marks` are those that are written together with it,
 * in front of it, and `before` is the last character of ours in front of it.
 */
export function chooseMark(formats: readonly Format[], at: number, marks: string, before: string): void {
  const format = formats[at] as Format
  switch (format.kind) {
    case 'emphasis':
      format.mark = freeMark(formats, at, '*', '_', before === '*', before === '_')
      break
    case 'strong':
      // `***` is read as strong inside of emphasis, so it will do for just that.
      format.mark = freeMark(formats, at, '**', '__', before === '*' && marks !== '*', before === '_')
      break
    case 'markup':
      // A raised link is a reference to a note, and needs no markup around it.
      if (formats[at + 1]?.kind === 'link') format.mark = ''
      break
    default:
  }
}

/**
 * The mark for an element: another one than that of an element of its kind around it, where the two could be taken
 * for a pair, and than what it would stand next to.
 */
function freeMark(
  formats: readonly Format[],
  at: number,
  usual: string,
  other: string,
  notUsual: boolean,
  notOther: boolean,
): string {
  const { kind } = formats[at] as Format
  let usualIsFree = !notUsual
  let otherIsFree = !notOther
  for (let index = 0; index < at; index++) {
    const around = formats[index] as Format
    if (around.kind !== kind) continue
    if (around.mark === usual) usualIsFree = false
    else if (around.mark === other) otherIsFree = false
  }
  if (usualIsFree || otherIsFree) return usualIsFree ? usual : other
  return notUsual ? other : usual
}

/** The innermost link that is open. */
export function innermostLink(formats: readonly Format[]): Format | undefined {
  for (let at = formats.length - 1; at >= 0; at--) {
    const format = formats[at] as Format
    if (format.kind === 'link') return format
  }
  return undefined
}

/** Whether those from `at` on have no marks to open with. */
export function nothingOpens(formats: readonly Format[], at: number): boolean {
  for (let index = at; index < formats.length; index++) {
    const { kind } = formats[index] as Format
    if (kind !== 'code' && kind !== 'plain') return false
  }
  return true
}

/** Punctuation in front of a word, which may stand before a mark as well as behind it; '' for none. */
export const firstPunctuation = (text: string): string => /^(?!\\)[\p{P}\p{S}](?=[\p{L}\p{N}])/u.exec(text)?.[0] ?? ''

/** Punctuation behind a word, likewise. */
export const lastPunctuation = (text: string): string => /(?<=[\p{L}\p{N}])[^\P{P}\\*_`~]+$/u.exec(text)?.[0] ?? ''
