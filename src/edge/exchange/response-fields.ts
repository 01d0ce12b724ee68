import type { RawHeaders } from '../../http/headers.js'

/**
 * Returns the fields of an origin's response for the client: without hop-by-hop fields and without those that the proxy
 * sets itself.
 */
export function responseFields(status: number, raw: RawHeaders): string[] {
  const fields: string[] = []
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
    fields.push(name, value)
  }
  return COMMON.has(connection) ? fields : withoutNamed(fields, connection)
}

/** Values of Connection that name no field. */
const COMMON = new Set(['', ',keep-alive', ',close'])

/** Handling of a field, by its name. The length alone decides most names. */
function dropped(name: string): 'no' | 'yes' | 'connection' | 'length' {
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

function withoutNamed(fields: string[], connection: string): string[] {
  const named = new Set(connection.split(',').map((name) => name.trim()))
  named.delete('content-length')
  if (fields.every((name, i) => i % 2 === 1 || !named.has(name.toLowerCase()))) return fields
  return fields.filter((_, i) => !named.has(fields[i - (i % 2)]!.toLowerCase()))
}

/** Returns the fields of a response as text, for a connection that is written to directly. */
export const fieldLines = (fields: RawHeaders): string =>
  fields.reduce((text, part, i) => text + part + (i % 2 === 0 ? ': ' : '\r\n'), '')
