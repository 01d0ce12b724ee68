/**
 * What a field has to do with the message it stands in: how long its body is, or the connection alone (RFC 9110, 7.6.1).
 * Undefined for every other field. Told by length first: most names are told by that.
 */
export function framingKind(name: string): 'connection' | 'length' | undefined {
  switch (name.length) {
    case 10: {
      const lower = name.toLowerCase()
      return lower === 'connection' || lower === 'keep-alive' ? 'connection' : undefined
    }
    case 14:
      return name.toLowerCase() === 'content-length' ? 'length' : undefined
    case 17:
      return name.toLowerCase() === 'transfer-encoding' ? 'connection' : undefined
    default:
      return undefined
  }
}
