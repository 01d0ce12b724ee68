import { readFileSync } from 'node:fs'

/** Location of a Redis, from its URL. */
export interface RedisTarget {
  readonly type: 'single' | 'sentinel' | 'cluster'
  /** Either the server, the sentinels, or some nodes of the cluster. */
  readonly hosts: readonly { readonly host: string; readonly port: number }[]
  /** Name of the master that the sentinels know. */
  readonly master: string | undefined
  readonly db: number
  readonly username: string | undefined
  readonly password: string | undefined
  readonly sentinelPassword: string | undefined
  /** Undefined without TLS. */
  readonly tls: { readonly ca?: Buffer } | undefined
  /** For messages. Never with a password. */
  readonly where: string
}

// `new URL()` rejects several hosts with ports.
const FORM = /^redis(s?)(?:\+(sentinel|cluster))?:\/\/(?:([^@/]*)@)?([^/?@]+)(?:\/([^?]*))?(?:\?(.*))?$/
const HOST = /^(\[[0-9a-fA-F:.]+\]|[^:[\]\s]+)(?::(\d{1,5}))?$/
const PORTS = { single: 6379, sentinel: 26379, cluster: 6379 }
const FORMS =
  'redis://host:6379/0, rediss://host:6379/0, redis+sentinel://host1,host2/NAME/0 or redis+cluster://host1,host2'

/**
 * Parses the URL of a Redis. `?ca_file=` names the certificate authority for TLS, `sentinel_password=` the password of
 * sentinels. Throws with the accepted forms, never with the password.
 */
export function redisTarget(url: string): RedisTarget {
  const [, secure, several, credentials = '', authority = '', path = '', query] = FORM.exec(url) ?? []
  const type = (several ?? 'single') as RedisTarget['type']
  const hosts = authority.split(',').map((text) => {
    const [, host, port = PORTS[type]] = HOST.exec(text) ?? []
    if (host === undefined) throw new Error(`the URL of the store is not valid: use ${FORMS}`)
    return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) }
  })
  if (type === 'single' && hosts.length > 1)
    throw new Error(`several hosts need a form that says what they are: use ${FORMS}`)
  const parts = path.split('/').filter((part) => part !== '')
  const master = type === 'sentinel' ? decodeURIComponent(parts.shift() ?? '') : undefined
  if (master === '')
    throw new Error('the URL of the store lacks the name of the master: redis+sentinel://host1,host2/NAME/0')
  const db = Number(parts[0] ?? 0)
  if (!Number.isInteger(db) || db < 0 || parts.length > 1 || (type === 'cluster' && db !== 0))
    throw new Error(
      `the database in the URL of the store is not valid${type === 'cluster' ? ': a cluster has only 0' : ''}`,
    )
  const options = new URLSearchParams(query)
  const caFile = options.get('ca_file')
  for (const name of options.keys())
    if (name !== 'ca_file' && name !== 'sentinel_password')
      throw new Error(`the URL of the store has an unknown option ${name}: use ca_file or sentinel_password`)
  const colon = credentials.indexOf(':')
  const username = decodeURIComponent(colon < 0 ? credentials : credentials.slice(0, colon))
  const password = colon < 0 ? '' : decodeURIComponent(credentials.slice(colon + 1))
  const names = hosts.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`).join(',')
  const subject = { single: 'Redis at', sentinel: `the Redis master ${master} of`, cluster: 'the Redis cluster at' }[
    type
  ]
  return {
    type,
    hosts,
    master,
    db,
    username: username || undefined,
    password: password || undefined,
    sentinelPassword: options.get('sentinel_password') ?? undefined,
    tls: secure === 's' ? (caFile === null ? {} : { ca: readFileSync(caFile) }) : undefined,
    where: `${subject} ${names}`,
  }
}
