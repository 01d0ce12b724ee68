import { kind } from '../store.js'

/** A zone setting from the API; without a record the configured value applies. Scope: the zone; id: the setting's. */
export interface Setting {
  readonly value: unknown
  readonly modified_on: string
}
export const SETTING = kind<Setting>('setting')
