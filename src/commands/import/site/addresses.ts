import { createHash } from 'node:crypto'
import { domainToASCII } from 'node:url'

/** Returns an identifier for a name: the same file gives the same identifiers each time. */
export const idOf = (name: string): string => createHash('sha256').update(name).digest('hex').slice(0, 32)

const HOSTNAME = /^(\*\.)?[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/

/** Returns a host name or wildcard in the form of the configuration. Undefined if it has none. */
export function hostnameOf(text: string): string | undefined {
  const lower = text.toLowerCase()
  const ascii = /^[\0-\x7f]*$/.test(lower) ? lower : domainToASCII(lower)
  return HOSTNAME.test(ascii) || /^\[?[0-9a-f:]+:[0-9a-f:.]*\]?$/.test(ascii) ? ascii : undefined
}

/** Returns whether a text is an address or a network that the rules language can read. */
export const isNetwork = (text: string): boolean =>
  /^\d{1,3}(\.\d{1,3}){3}(\/\d{1,2})?$/.test(text) || (/^[0-9a-f:.]+(\/\d{1,3})?$/i.test(text) && text.includes(':'))

/** Returns the name of a zone for host names: the first one that is not a pattern. */
export function zoneName(hostnames: readonly string[]): string {
  const exact = hostnames.find((name) => !name.includes('*'))
  return exact ?? hostnames.find((name) => name.startsWith('*.'))?.slice(2) ?? 'default.invalid'
}
