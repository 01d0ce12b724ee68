import { classOf, codeAt, lengthOf, part } from '../text/characters.js'
import { destination } from './escape.js'

/** Maximum depth of elements that are written. Contents of deeper ones are plain text. */
export const MAX_FORMATS = 32

/** Maximum number of characters of a code span that grows by an adjacent one. */
export const MAX_SPAN = 256

/** Markdown of an inline element; `plain` writes only its contents. */
export type Kind = 'emphasis' | 'strong' | 'strike' | 'markup' | 'link' | 'code' | 'plain'

/** Destination of a link, as it is written. */
export interface Link {
  url: string
  /** Nothing in `url` needs escapes. */
  plain: boolean
  title: string | undefined
  /** Nothing in `title` needs escapes. */
  plainTitle?: boolean
  /** Name of a link that contains nothing readable, such as an icon. */
  name: string | undefined
  /** Pattern for the text of a link that is dropped, because it serves the mouse or the keyboard, not the reader. */
  noise?: RegExp | undefined
  /** The fragment of a link to a place on the page. */
  fragment?: string | undefined
}

/** Returns the end of a link, from its `](` on. */
export const destinationOf = ({ url, title, plain, plainTitle }: Link): string =>
  destination(url, title, plain, plainTitle)

/** An inline element that is open. Elements that are opened later use its memory again. */
export interface Format {
  kind: Kind
  /** Name of the element, to find it at its end tag. */
  name: string
  /** Mark that opens and closes it in Markdown. For emphasis it is chosen when it is written. */
  mark: string
  link: Link | undefined
  /** Number of blocks that began or ended inside a link. */
  blocks: number
  /** Text of a link as long as it contains only one piece of text. */
  only: string | undefined
  pieces: number
}

/** Creates a newly opened format. */
export const newFormat = (kind: Kind, name: string, mark: string, link: Link | undefined): Format => ({
  kind,
  name,
  mark,
  link,
  blocks: 0,
  only: undefined,
  pieces: 0,
})

/** Makes a newly opened format of one that ended. */
export function reopen(format: Format, kind: Kind, name: string, mark: string, link: Link | undefined): Format {
  format.kind = kind
  format.name = name
  format.mark = mark
  format.link = link
  format.blocks = 0
  format.only = undefined
  format.pieces = 0
  return format
}

/** Returns the white space at the end of a text, including Unicode white space. */
export function trailingSpaces(text: string): string {
  const length = lengthOf(text)
  let at = length
  while (at > 0 && classOf(codeAt(text, at - 1)) === 'space') at--
  return at === length ? '' : part(text, at, length)
}

/** Escapes the end of a text that is followed by marks, although white space followed when it was escaped. */
export function sealed(text: string): string {
  if (/[*_~]$/.test(text)) return text.replace(/\\?(.)$/, '\\$1')
  let at = text.length
  while (at > 0 && text.charCodeAt(at - 1) === 0x5c) at--
  return (text.length - at) % 2 === 1 ? text + '\\' : text
}

/** Returns whether `<text>` is read as a link to `url`. CommonMark 0.31.2, 6.5. */
export function isAutolink(url: string, text: string): boolean {
  if (text === url) return /^[A-Za-z][A-Za-z\d+.-]{1,31}:[^\s<>]*$/.test(url)
  if (lengthOf(url) !== lengthOf(text) + 'mailto:'.length) return false
  return url === `mailto:${text}` && /^[\w.!#$%&'*+/=?^`{|}~-]+@[A-Za-z\d](?:[A-Za-z\d.-]*[A-Za-z\d])?$/.test(text)
}

/**
 * Chooses the mark of `formats[at]` if its kind leaves a choice. `marks` are written together with it, before it.
 * `before` is the last generated character before it.
 */
export function chooseMark(formats: readonly Format[], at: number, marks: string, before: string): void {
  const format = formats[at] as Format
  switch (format.kind) {
    case 'emphasis':
      format.mark = freeMark(formats, at, '*', '_', before === '*', before === '_')
      break
    case 'strong':
      // `***` is read as strong inside emphasis, so it is valid for that only.
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
 * Returns the mark for an element. It differs from the mark of an outer element of the same type if the two could be
 * read as a pair, and from a mark next to it.
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

/** Returns the innermost open link. */
export function innermostLink(formats: readonly Format[]): Format | undefined {
  for (let at = formats.length - 1; at >= 0; at--) {
    const format = formats[at] as Format
    if (format.kind === 'link') return format
  }
  return undefined
}

/** Returns whether the formats from `at` on have no marks to open with. */
export function nothingOpens(formats: readonly Format[], at: number): boolean {
  for (let index = at; index < formats.length; index++) {
    const { kind } = formats[index] as Format
    if (kind !== 'code' && kind !== 'plain') return false
  }
  return true
}

/** Returns the punctuation before a word, which is valid before or after a mark. '' if absent. */
export const firstPunctuation = (text: string): string => /^(?!\\)[\p{P}\p{S}](?=[\p{L}\p{N}])/u.exec(text)?.[0] ?? ''

/** Returns the punctuation after a word, which is valid before or after a mark. '' if absent. */
export const lastPunctuation = (text: string): string => /(?<=[\p{L}\p{N}])[^\P{P}\\*_`~]+$/u.exec(text)?.[0] ?? ''
