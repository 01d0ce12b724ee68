import { decodeHTML } from 'entities/decode'

/** The longest name of a character reference, `&` and `;` not counted. */
const LONGEST_NAME = 31
const UNFINISHED = /^&(?:#(?:[xX][0-9a-fA-F]*|[0-9]*)|[a-zA-Z][0-9a-zA-Z]*)?$/

/** Text with its character references (all of HTML's, with and without `;`) put in place. */
export const decodeText = (text: string): string => decodeHTML(text)

/**
 * Where a reference starts that `html` may hold only the beginning of; the length of `html` if there is none. Nothing
 * before `start` is looked at.
 */
export function unfinishedReference(html: string, start: number): number {
  const at = html.lastIndexOf('&')
  if (at < start) return html.length
  // Digits may go on for ever: `&#000...065;` is an A.
  if (html.length - at > LONGEST_NAME + 2 && html.charAt(at + 1) !== '#') return html.length
  return UNFINISHED.test(html.slice(at)) ? at : html.length
}
