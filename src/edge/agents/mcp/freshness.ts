import { members } from '../../../http/accept.js'
import { headerValues, type RawHeaders } from '../../../http/headers.js'

const DAY = 86_400
/** For a response that does not say how long it is fresh. */
const DEFAULT = 3600

/**
 * Returns for how many seconds everyone may find a page by its words, 0 if it is not for everyone: responses that a shared
 * cache must not store (RFC 9111, 3), and those that depend on cookies.
 */
export function publicSeconds(headers: RawHeaders): number {
  if (headerValues(headers, 'set-cookie').length > 0) return 0
  if (headerValues(headers, 'x-robots-tag').some((value) => /(?:^|[\s,:])(?:noindex|none)(?:$|[\s,])/i.test(value)))
    return 0
  const varies = headerValues(headers, 'vary').flatMap((value) => [...members(value)])
  if (varies.some((name) => /^(?:\*|cookie|authorization)$/i.test(name))) return 0
  let [seconds, shared] = [DEFAULT, false]
  for (const value of headerValues(headers, 'cache-control'))
    for (const member of members(value)) {
      if (/^(?:private|no-store|no-cache)(?:$|[\s=])/i.test(member)) return 0
      const [, name, number] = /^(s-maxage|max-age)\s*=\s*"?(\d{1,10})/i.exec(member) ?? []
      if (name === undefined || (shared && name.toLowerCase() === 'max-age')) continue
      shared = name.toLowerCase() === 's-maxage'
      seconds = Number(number)
    }
  return Math.min(seconds, DAY)
}
