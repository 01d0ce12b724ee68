import { readFileSync } from 'node:fs'

/** Servers and stream of a shared spool, from its URL. */
export interface NatsTarget {
  /** `host:port` of each server. */
  readonly servers: readonly string[]
  readonly stream: string
  readonly replicas: number
  readonly user: string | undefined
  readonly password: string | undefined
  /** Undefined without TLS. */
  readonly tls: { readonly ca?: string } | undefined
  /** Name for messages, without a password. */
  readonly where: string
}

// `new URL()` rejects several hosts with ports.
const FORM = /^(nats|tls):\/\/(?:([^@/]*)@)?([^/?@]+)\/?(?:\?(.*))?$/
const HOST = /^(\[[0-9a-fA-F:.]+\]|[^:[\]\s]+)(?::(\d{1,5}))?$/
const STREAM = /^[A-Za-z0-9_-]{1,64}$/
const EXAMPLE = 'nats://host1:4222,host2:4222?stream=edged&replicas=3'
const OPTIONS = ['stream', 'replicas', 'ca_file']

/**
 * Parses the URL of a shared spool: `nats://`, or `tls://` with `?ca_file=` for a certificate authority of its own. Throws
 * with the accepted form, never with the password.
 */
export function natsTarget(url: string): NatsTarget {
  const [, scheme, credentials = '', authority = '', query] = FORM.exec(url) ?? []
  const servers = authority.split(',').map((text) => {
    const [, host, port = '4222'] = HOST.exec(text) ?? []
    if (host === undefined) throw new Error(`the URL of the spool is not valid: use ${EXAMPLE}`)
    return `${host}:${port}`
  })
  const options = new URLSearchParams(query)
  for (const name of options.keys())
    if (!OPTIONS.includes(name))
      throw new Error(`the URL of the spool has an unknown option ${name}; use ${OPTIONS.join(', ')}`)
  const stream = options.get('stream') ?? 'edged'
  if (!STREAM.test(stream))
    throw new Error(`the stream in the URL of the spool is not valid: use letters, digits, "_" and "-"`)
  const replicas = Number(options.get('replicas') ?? 1)
  if (![1, 2, 3, 4, 5].includes(replicas))
    throw new Error('the replicas in the URL of the spool are not valid: use a number from 1 to 5')
  const caFile = options.get('ca_file')
  if (caFile !== null && scheme !== 'tls') throw new Error('ca_file needs a URL that begins with tls://')
  const colon = credentials.indexOf(':')
  const user = decodeURIComponent(colon < 0 ? credentials : credentials.slice(0, colon))
  const password = colon < 0 ? '' : decodeURIComponent(credentials.slice(colon + 1))
  return {
    servers,
    stream,
    replicas,
    user: user || undefined,
    password: password || undefined,
    tls: scheme === 'tls' ? (caFile === null ? {} : { ca: readFileSync(caFile, 'utf8') }) : undefined,
    where: `NATS at ${servers.join(', ')}`,
  }
}
