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
 * The mark for an element: another one than that of an element of its kind around it, where the two could be taken
 * for a pair, and than what it would stand next to. Around it are the first `written` of `formats`.
 */
export function chooseMark(
  formats: readonly Format[],
  written: number,
  kind: Kind,
  usual: string,
  other: string,
  notUsual: boolean,
  notOther: boolean,
): string {
  let usualIsFree = !notUsual
  let otherIsFree = !notOther
  for (let index = 0; index < written; index++) {
    const around = formats[index] as Format
    if (around.kind !== kind) continue
    if (around.mark === usual) usualIsFree = false
    else if (around.mark === other) otherIsFree = false
  }
  if (usualIsFree || otherIsFree) return usualIsFree ? usual : other
  return notUsual ? other : usual
}
