import { kind } from '../store.js'

/**
 * A zone setting from the API. Without a record the configured value applies. The scope is the zone. The id is the name
 * of the setting.
 */
export interface Setting {
  readonly value: unknown
  readonly modified_on: string
}
/** Development mode ends automatically after three hours. */
export const DEVELOPMENT_MS = 3 * 3_600_000

export const SETTING = kind<Setting>('setting')
