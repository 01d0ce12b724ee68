import { SPACE } from '../../../core/bytes.js'

/** Returns whether a line has one space before its value and none after it, as heads are written. */
export function isPlainLine(text: string, colon: number, end: number): boolean {
  const begin = colon + 2
  if (begin > end || text.charCodeAt(colon + 1) !== SPACE) return false
  return begin === end || (text.charCodeAt(begin) > SPACE && text.charCodeAt(end - 1) > SPACE)
}
