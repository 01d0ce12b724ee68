import { dataset } from '../dataset.js'

export const nelReports = dataset({
  name: 'nel_reports',
  scopes: ['zone'],
  clock: 'Timestamp',
  fields: {
    ClientIPASN: 'int',
    ClientIPASNDescription: 'string',
    ClientIPCountry: 'string',
    LastKnownGoodColoCode: 'string',
    Phase: 'string',
    Timestamp: 'timestamp',
    Type: 'string',
  },
})
