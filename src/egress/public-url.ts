import { InvalidInput } from '../core/errors.js'

/**
 * Reads the URL of a destination on the public internet, by its form alone. It needs https and a host, and must not
 * have credentials or port 0. Throws InvalidInput with the pointer "". `Egress.check` decides whether it may be
 * reached.
 */
export function publicUrl(text: string): URL {
  // URL parsers drop white space and read a backslash as a slash. The result differs from the text that a reader sees.
  if (/[\s\\\p{Cc}\p{Cf}]/u.test(text))
    throw refused('must not have white space, a backslash or a control character in it')
  if (!/^https:\/\/[^/?#]/i.test(text)) throw refused('must be an https:// URL')
  if (/^https:\/\/[^/?#]*@/i.test(text)) throw refused('must not have credentials in it')
  if (!URL.canParse(text)) throw refused('must be an https:// URL')
  const url = new URL(text)
  if (url.port === '0') throw refused('must not have port 0')
  return url
}

const refused = (message: string): InvalidInput => new InvalidInput([{ pointer: '', message }])

/** Returns the port of an http or https URL. */
export const portOf = ({ port, protocol }: URL): number => Number(port) || (protocol === 'http:' ? 80 : 443)

/** Returns the host of a URL for a connection: IPv6 without brackets. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '')
