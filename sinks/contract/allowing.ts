import type { SinkDeps } from './sink-type.js'

/** A server that a destination names. */
interface Named {
  readonly host: string
  readonly port: number
}

/**
 * Returns the options that allow a destination without TLS, with the entries for addresses that are not
 * public, so that the next try needs no further entry.
 */
export function plainHttpAdvice({ egress }: Pick<SinkDeps, 'egress'>, servers: readonly Named[]): string {
  const entries = servers.flatMap(({ host, port }) => egress.entryFor?.(host, port) ?? [])
  const more = entries.length > 0 ? `: true, and with egress.allow_cidrs: ${JSON.stringify([...new Set(entries)])}` : ''
  return `the operator can allow it with logpush.destinations.allow_plain_http${more}`
}
