import type { Migration } from './migration.js'

/**
 * A delivery of a webhook has no state before its first attempt. Deliveries with one stay as they are. The number keeps
 * older versions, which do not send the others, away from the data.
 */
export const unsentDeliveries: Migration = {
  name: 'unsent-deliveries',
  kinds: [],
  convert: (record) => [record],
}
