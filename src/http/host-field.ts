const [UPPER_A, UPPER_Z, COLON, DOT] = [65, 90, 58, 46] as const
const DEFAULT_PORTS = { http: 80, https: 443 } as const
const NAME_AND_PORT = /^(\[[^\]]*\]|[^:]*?)\.?(?::(\d+))?$/

/**
 * Returns a valid Host field in the one spelling that the origin receives and keys of cached responses contain: lower case,
 * without the trailing dot and without the default port of the scheme. Returns the same string if it is already normal.
 */
export function normalHostField(host: string, scheme: 'http' | 'https'): string {
  let from = 0
  for (; from < host.length; from++) {
    const code = host.charCodeAt(from)
    if ((code >= UPPER_A && code <= UPPER_Z) || code === COLON) break
  }
  if (from === host.length && host.charCodeAt(from - 1) !== DOT) return host
  const [, name = host, port] = NAME_AND_PORT.exec(host.toLowerCase()) ?? []
  if (port === undefined) return name
  const number = Number(port)
  return number === DEFAULT_PORTS[scheme] ? name : `${name}:${number}`
}
