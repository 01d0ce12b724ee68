import { dataset } from '../dataset.js'

export const dlpForensicCopies = dataset({
  name: 'dlp_forensic_copies',
  scopes: ['account'],
  clock: 'Datetime',
  fields: {
    AccountID: 'string',
    Datetime: 'timestamp',
    ForensicCopyID: 'string',
    GatewayRequestID: 'string',
    Headers: 'object',
    Payload: 'string',
    Phase: 'string',
    TriggeredRuleID: 'string',
  },
})
