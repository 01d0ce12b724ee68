import { members } from '../../http/accept.js'
import { headerValues, type RawHeaders } from '../../http/headers.js'

const MAX_TAG_BYTES = 16_384

/** Returns the tags of a response in lower case. Tags beyond 16 KB are ignored. */
export function tagsOf(headers: RawHeaders): string[] {
  const tags = new Set<string>()
  let bytes = 0
  for (const value of headerValues(headers, 'cache-tag'))
    for (const tag of members(value)) {
      bytes += tag.length
      if (bytes > MAX_TAG_BYTES) return [...tags]
      if (/^[\x20-\x7e]+$/.test(tag)) tags.add(tag.toLowerCase())
    }
  return [...tags]
}
