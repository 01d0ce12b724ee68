import { withoutDots } from './paths.js'
import type { UrlNormalization } from '../../core/model/transforms.js'

/** Whether a path may have something to normalize. Most have nothing. */
const SUSPICIOUS = /%|\/\/|\/\.|[^!$&-;=@-Z_a-z~[\]]/
/** Characters that are percent-encoded: all but unreserved and reserved ones and the percent sign (RFC 3986, 2). */
const UNSAFE = /[^\w\-.~:/?#[\]@!$&'()*+,;=%]/g
const UNRESERVED = /[\w\-.~]/

/** Returns the path of a target in origin form, without its query. */
export function pathOf(target: string): string {
  const mark = target.indexOf('?')
  return mark < 0 ? target : target.slice(0, mark)
}

/**
 * Returns a target in origin form with its path normalized. The query stays. Unreserved characters are decoded, other
 * escapes are in upper case, bytes that are not allowed are encoded, and dot segments are removed (RFC 3986, 6.2.2).
 */
export function normalTarget(target: string, { type }: UrlNormalization): string {
  const mark = target.indexOf('?')
  const path = mark === -1 ? target : target.slice(0, mark)
  if (!SUSPICIOUS.test(path) || !path.startsWith('/')) return target
  return normalPath(path, type === 'cloudflare') + (mark === -1 ? '' : target.slice(mark))
}

function normalPath(given: string, merges: boolean): string {
  const path = (merges ? given.replaceAll('\\', '/') : given)
    .replaceAll(UNSAFE, escaped)
    .replaceAll(/%([0-9a-fA-F]{2})/g, (escape, digits: string) => {
      const char = String.fromCharCode(Number.parseInt(digits, 16))
      return UNRESERVED.test(char) ? char : escape.toUpperCase()
    })
  return withoutDots(merges ? path.replaceAll(/\/{2,}/g, '/') : path)
}

/** Returns a byte as an escape. */
const escaped = (char: string): string => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
