import { isInnerList, parseList } from 'structured-headers'
import { headerOf, headerValues, type RawHeaders } from '../../http/headers.js'
import { normalHostField } from '../../http/host-field.js'
import type { Exchange } from '../exchange/exchange.js'

/** At least 128 groups of 128 characters must be possible (RFC 9875, 2). */
const MAX_GROUPS = 256
const MAX_GROUP_CHARACTERS = 1024

/** Begins the tag of a group. `Cache-Tag` and purges have no tag that begins so. */
const MARK = '\n'

/**
 * Returns the groups that a field names (RFC 9875) as tags. A group belongs to an origin, so the tag has the scheme and the
 * requested host. A field that is not a list of strings names none.
 */
function groupTags(headers: RawHeaders, field: string, { scheme, rawHeaders }: Exchange): string[] {
  const values = headerValues(headers, field)
  if (values.length === 0) return []
  const origin = `${scheme}://${normalHostField(headerOf(rawHeaders, 'host') ?? '', scheme)}`
  return stringsOf(values.join(', ')).map((group) => `${MARK}${origin} ${group}`)
}

function stringsOf(text: string): string[] {
  try {
    const found = new Set<string>()
    for (const member of parseList(text)) {
      if (isInnerList(member)) continue
      const [value] = member
      if (typeof value === 'string' && value.length <= MAX_GROUP_CHARACTERS) found.add(value)
      if (found.size === MAX_GROUPS) break
    }
    return [...found]
  } catch {
    return []
  }
}

/** Returns the groups that a response belongs to. */
export const groupsOf = (headers: RawHeaders, exchange: Exchange): string[] =>
  groupTags(headers, 'cache-groups', exchange)

/** Returns the groups that the response to an unsafe request invalidates. */
export const invalidatedGroups = (headers: RawHeaders, exchange: Exchange): string[] =>
  groupTags(headers, 'cache-group-invalidation', exchange)

/** Whether a response belongs to a group. */
export const isGrouped = (tags: readonly string[]): boolean => tags.some((tag) => tag.startsWith(MARK))
