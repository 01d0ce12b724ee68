import { flag, refuse, type Params } from '../params.js'
import type { SinkDeps } from '../sink-type.js'

/** A server that is reached by a connection of its own protocol. */
export interface Server {
  readonly host: string
  readonly port: number
}

/** How connections to it are made. */
export interface Transport {
  readonly tls: boolean
  readonly rejectUnauthorized: boolean
}

/** The parameters that {@link transportOf} reads. */
export const TRANSPORT = ['tls', 'insecure-skip-verify'] as const

/** TLS with a verified certificate, unless the destination says otherwise and the operator allows it. */
export function transportOf(given: Params<(typeof TRANSPORT)[number]>, deps: SinkDeps): Transport {
  const tls = flag(given, 'tls', true)
  const insecure = flag(given, 'insecure-skip-verify', false)
  if (!deps.allowPlainHttp && !tls) refuse('is without TLS, which the configuration does not allow')
  if (!deps.allowPlainHttp && insecure)
    refuse('skips the check of a certificate, which the configuration does not allow')
  return { tls, rejectUnauthorized: !insecure }
}

/** The server in a destination; `port` where it names none. Throws InvalidInput. */
export function serverOf({ hostname, port: given }: URL, port: number): Server {
  const host = hostname.replace(/^\[|\]$/g, '')
  if (!/^[A-Za-z0-9._:-]{1,253}$/.test(host)) refuse('names no host')
  if (given === '0') refuse('has port 0')
  return { host, port: given === '' ? port : Number(given) }
}

/** Refuses what stands between host and query. */
export function noPath({ pathname }: URL): void {
  if (pathname !== '' && pathname !== '/') refuse('has a path')
}

export const CONNECT_MS = 10_000
