import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'

const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/

/** Returns a host name with a dot in lower case and ASCII (RFC 1123, IDNA), or undefined if the text is not one. */
export function hostName(text: string): string | undefined {
  if (text.length > 255 || /[\s/:@?#%\\*]/.test(text) || isIP(text) !== 0) return undefined
  const ascii = domainToASCII(text.toLowerCase())
  const labels = ascii.split('.')
  if (ascii.length > 253 || labels.length < 2 || !labels.every((label) => LABEL.test(label))) return undefined
  // Texts such as `1.2.3.0x4` are parsed as addresses.
  return isIP(ascii) === 0 ? ascii : undefined
}

/** Returns whether `pattern`, a host name or `*.` and one, covers the name. */
export const covers = (pattern: string, name: string): boolean =>
  pattern.startsWith('*.') ? name.endsWith(pattern.slice(1).toLowerCase()) : pattern.toLowerCase() === name
