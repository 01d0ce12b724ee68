import { kind } from '../store.js'

/** What the API has set on a zone. Scope: the zone; id: the setting's. Without a record the configuration's value is in force. */
export interface Setting {
  readonly value: unknown
  readonly modified_on: string
}
export const SETTING = kind<Setting>('setting')
