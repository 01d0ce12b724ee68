import type { RawHeaders } from '../../http/headers.js'

/** The fields of the last response. See {@link responseFields}. */
const draft: string[] = []

/**
 * Returns the fields of an origin's response for the client: without hop-by-hop fields and without those that the proxy
 * sets itself. `cacheStatus`: the value of `cf-cache-status` in place of the origin's own.
 */
export function responseFields(status: number, raw: RawHeaders, cacheStatus?: string): string[] {
  let length = 0
  let connection = ''
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i]!
    const value = raw[i + 1]!
    switch (dropped(name)) {
      case 'no':
        break
      case 'length':
        // Such responses have none (RFC 9110, 8.6).
        if (status === 204 || status < 200) continue
        break
      case 'connection':
        connection += `,${value.toLowerCase()}`
        continue
      case 'yes':
        continue
    }
    if (cacheStatus !== undefined && name.length === CACHE_STATUS.length && name.toLowerCase() === CACHE_STATUS)
      continue
    draft[length++] = name
    draft[length++] = value
  }
  if (cacheStatus !== undefined) {
    draft[length++] = CACHE_STATUS
    draft[length++] = cacheStatus
  }
  // A list that grows is copied for each step, a list of known length once.
  const fields = draft.slice(0, length)
  return namesFields(connection) ? withoutNamed(fields, connection, cacheStatus !== undefined) : fields
}

/** Result of the cache for a request. */
export const CACHE_STATUS = 'cf-cache-status'
/** A field for the cache alone (RFC 9213). Clients do not get it. */
export const EDGE_FIELD = 'cloudflare-cdn-cache-control'

/** Values of Connection that name no field. */
const COMMON = new Set(['', ',keep-alive', ',close'])

/** Whether values of Connection, each after a comma and in lower case, name fields. */
export const namesFields = (connection: string): boolean => !COMMON.has(connection)

/** Handling of a field, by its name. The length alone decides most names. */
export function dropped(name: string): 'no' | 'yes' | 'connection' | 'length' {
  switch (name.length) {
    case 2:
      return name.toLowerCase() === 'te' ? 'yes' : 'no'
    case 6:
      return name.toLowerCase() === 'cf-ray' ? 'yes' : 'no'
    case 7: {
      const lower = name.toLowerCase()
      return lower === 'trailer' || lower === 'upgrade' ? 'yes' : 'no'
    }
    case 10: {
      const lower = name.toLowerCase()
      return lower === 'connection' ? 'connection' : lower === 'keep-alive' ? 'yes' : 'no'
    }
    case 14:
      return name.toLowerCase() === 'content-length' ? 'length' : 'no'
    case 16:
      return name.toLowerCase() === 'proxy-connection' ? 'yes' : 'no'
    case 17:
      return name.toLowerCase() === 'transfer-encoding' ? 'yes' : 'no'
    case 18:
      return name.toLowerCase() === 'proxy-authenticate' ? 'yes' : 'no'
    default:
      return 'no'
  }
}

function withoutNamed(fields: string[], connection: string, hasCacheStatus: boolean): string[] {
  const named = new Set(connection.split(',').map((name) => name.trim()))
  named.delete('content-length')
  if (hasCacheStatus) named.delete(CACHE_STATUS)
  if (fields.every((name, i) => i % 2 === 1 || !named.has(name.toLowerCase()))) return fields
  return fields.filter((_, i) => !named.has(fields[i - (i % 2)]!.toLowerCase()))
}

/** Returns the fields of a response as text, for a connection that is written to directly. */
export const fieldLines = (fields: RawHeaders): string =>
  fields.reduce((text, part, i) => text + part + (i % 2 === 0 ? ': ' : '\r\n'), '')
