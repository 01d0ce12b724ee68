import { dataset } from '../dataset.js'

export const warpToggleChanges = dataset({
  name: 'warp_toggle_changes',
  scopes: ['account'],
  clock: 'Timestamp',
  fields: {
    AccountID: 'string',
    AccountName: 'string',
    DeviceID: 'string',
    DeviceRegistrationID: 'string',
    Hostname: 'string',
    SerialNumber: 'string',
    Timestamp: 'timestamp',
    Toggled: 'bool',
    UserEmail: 'string',
  },
})
