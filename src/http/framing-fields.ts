/**
 * Returns the effect of a field on its message: it defines the length of the body, or concerns the connection only (RFC
 * 9110, 7.6.1). Undefined for every other field. Compares lengths first, which decide most names.
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
