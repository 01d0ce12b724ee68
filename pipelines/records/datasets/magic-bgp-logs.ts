import { dataset } from '../dataset.js'

export const magicBgpLogs = dataset({
  name: 'magic_bgp_logs',
  scopes: ['account'],
  clock: 'EventTimestamp',
  fields: {
    Direction: 'string',
    EventData: 'object',
    EventKind: 'string',
    EventTimestamp: 'timestamp',
    TunnelID: 'string',
    TunnelName: 'string',
  },
})
