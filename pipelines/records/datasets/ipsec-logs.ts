import { dataset } from '../dataset.js'

export const ipsecLogs = dataset({
  name: 'ipsec_logs',
  scopes: ['account'],
  clock: 'Timestamp',
  fields: {
    Level: 'string',
    LocalIP: 'string',
    LocalPort: 'int',
    Message: 'string',
    RemoteIP: 'string',
    RemotePort: 'int',
    Timestamp: 'timestamp',
  },
})
