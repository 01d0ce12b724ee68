import { isIP } from 'node:net'
import { hostAndPort, socketPath } from '../../http/listen.js'

/** Options that decide under which names the admin listener responds. */
export interface AdminNames {
  /** Its address. */
  readonly listen: string
  /** Names besides IP addresses, localhost and the name in `listen`. `*`: every name. */
  readonly hosts: readonly string[]
}

/** Maximum characters of a name in a message. */
const MAX_SHOWN = 100

/**
 * Returns why a request with this Host field is rejected. A page in a browser that gives its own name the address
 * 127.0.0.1 (DNS rebinding) could read every response otherwise; its requests carry that name. Browsers always send the
 * field, and cannot reach a unix socket.
 */
export function hostIssue(field: string | undefined, { listen, hosts }: AdminNames): string | undefined {
  if (field === undefined || field === '' || socketPath(listen) !== undefined || hosts.includes('*')) return undefined
  const name = nameOf(field)
  const known = ['localhost', hostAndPort(listen).host, ...hosts].map((one) => one.toLowerCase())
  if (isIP(name) > 0 || known.includes(name)) return undefined
  return `the host ${JSON.stringify(name.slice(0, MAX_SHOWN))} is not allowed; add it to admin.hosts, or use an IP address`
}

/** Returns the host of a Host field: lower case, without port, brackets and a dot at the end. */
const nameOf = (field: string): string =>
  field
    .toLowerCase()
    .replace(/:\d*$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
