import { dataset } from '../dataset.js'

export const warpConfigChanges = dataset({
  name: 'warp_config_changes',
  scopes: ['account'],
  clock: 'Timestamp',
  fields: {
    AccountIDFrom: 'string',
    AccountIDTo: 'string',
    AccountNameFrom: 'string',
    AccountNameTo: 'string',
    ConfigNameFrom: 'string',
    ConfigNameTo: 'string',
    DeviceID: 'string',
    DeviceRegistrationID: 'string',
    Hostname: 'string',
    SerialNumber: 'string',
    Timestamp: 'timestamp',
  },
})
