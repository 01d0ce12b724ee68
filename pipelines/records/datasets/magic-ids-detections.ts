import { dataset } from '../dataset.js'

export const magicIdsDetections = dataset({
  name: 'magic_ids_detections',
  scopes: ['account'],
  clock: 'Timestamp',
  fields: {
    Action: 'string',
    ColoCity: 'string',
    ColoCode: 'string',
    DestinationIP: 'string',
    DestinationPort: 'int',
    Protocol: 'string',
    SignatureID: 'int',
    SignatureMessage: 'string',
    SignatureRevision: 'int',
    SourceIP: 'string',
    SourcePort: 'int',
    Timestamp: 'timestamp',
  },
})
