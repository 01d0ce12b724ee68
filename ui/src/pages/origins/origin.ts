import type { Tone } from '../../parts/panel.tsx'

/** An origin as `GET .../edged/overview` returns it. */
export interface Origin {
  readonly url: string | null
  readonly state: 'up' | 'down' | 'unknown' | 'missing'
  readonly since: string | null
  readonly last_error: string | null
  readonly checked_at: string | null
  readonly requests_in_flight: number
  readonly backup: boolean
  readonly weight: number
}

/** Counts of one origin in a range, as `GET .../edged/analytics?by=origin` returns them. */
export interface OriginTraffic {
  readonly key: string
  readonly requests: number
  readonly statuses?: Readonly<Record<string, number>>
  readonly origin_ms?: { readonly p95: number | null }
}

const TONES: Readonly<Record<Origin['state'], Tone>> = { up: 'ok', down: 'bad', unknown: 'off', missing: 'bad' }
const WORDS: Readonly<Record<Origin['state'], string>> = {
  up: 'Up',
  down: 'Down',
  unknown: 'Not asked yet',
  missing: 'No origin',
}

export const toneOf = (state: Origin['state']): Tone => TONES[state]
export const wordOf = (state: Origin['state']): string => WORDS[state]
