import { plainHttpAdvice } from '../contract/allowing.js'
import { flag, reject } from '../contract/params.js'
import type { SinkDeps } from '../contract/sink-type.js'

/** A server with a protocol other than HTTP. */
export interface Server {
  readonly host: string
  readonly port: number
}

/** How to connect to a server. */
export interface Transport {
  readonly tls: boolean
  readonly rejectUnauthorized: boolean
}

const ALLOWED = 'Needs `logpush.destinations.allow_plain_http`.'

/** The parameters that {@link transportOf} reads. */
export const TRANSPORT = {
  tls: flag(`false: connect without TLS. ${ALLOWED}`, true),
  'insecure-skip-verify': flag(`true: accept any certificate. ${ALLOWED}`, false),
}

interface TransportParams {
  readonly tls?: boolean
  readonly 'insecure-skip-verify'?: boolean
}

/** Returns how to connect: TLS with a verified certificate, unless the destination asks otherwise and the operator allows it. */
export function transportOf(
  { tls = true, 'insecure-skip-verify': insecure = false }: TransportParams,
  deps: Pick<SinkDeps, 'allowPlainHttp' | 'egress'>,
  servers: readonly Server[],
): Transport {
  const advice = () => plainHttpAdvice(deps, servers)
  if (!deps.allowPlainHttp && !tls) reject(`must use TLS; ${advice()}`)
  if (!deps.allowPlainHttp && insecure) reject(`must not have insecure-skip-verify; ${advice()}`)
  return { tls, rejectUnauthorized: !insecure }
}

/** The server of a destination; `port` is the default. Throws InvalidInput. */
export function serverOf({ hostname, port: given }: URL, port: number): Server {
  const host = hostname.replace(/^\[|\]$/g, '')
  if (!/^[A-Za-z0-9._:-]{1,253}$/.test(host)) reject('has no host')
  if (given === '0') reject('has port 0')
  return { host, port: given === '' ? port : Number(given) }
}

/** Rejects a destination with a path. */
export function noPath({ pathname }: URL): void {
  if (pathname !== '' && pathname !== '/') reject('has a path')
}

export const CONNECT_MS = 10_000
