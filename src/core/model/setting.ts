import { kind } from '../store.js'

/** A zone setting from the API; without a record the configured value applies. Scope: the zone; id: the setting's. */
export interface Setting {
  readonly value: unknown
  readonly modified_on: string
}
/** Development mode ends automatically after three hours. */
export const DEVELOPMENT_MS = 3 * 3_600_000

export const SETTING = kind<Setting>('setting')
