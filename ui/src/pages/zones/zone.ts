import type { Source, Zone } from '../../api/types.ts'

/** State of a zone as `GET /accounts/{id}/edged/overview` returns it. */
export interface ZoneState {
  readonly id: string
  readonly origins: readonly { readonly url: string | null; readonly state: string }[]
}

/** A row of the table of zones. */
export interface Line extends Zone {
  readonly edged_source?: Source | null
  readonly origins: ZoneState['origins']
  readonly traffic:
    { readonly key: string; readonly requests: number; readonly statuses: Readonly<Record<string, number>> } | undefined
}

export const ORIGIN_HINT =
  'http:// or https://, a host and a port. A private address has to be allowed by egress.allow_cidrs in the configuration file.'
