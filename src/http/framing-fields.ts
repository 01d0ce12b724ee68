/**
 * A field value with one of these characters could end its line (RFC 9110, 5.5). Each character is one byte (latin1).
 */
// oxlint-disable-next-line no-control-regex
export const UNSAFE_VALUE = /[^\t\x20-\x7e\x80-\xff]/
/** A field name with one of these characters is not a token (RFC 9110, 5.6.2). */
export const UNSAFE_NAME = /[^!#$%&'*+.^_`|~0-9A-Za-z-]/

/**
 * Returns the effect of a field on its message. It defines the length of the body, or concerns the connection only (RFC
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
