import { dataset } from '../dataset.js'

export const sinkholeHttpLogs = dataset({
  name: 'sinkhole_http_logs',
  scopes: ['account'],
  clock: 'Timestamp',
  fields: {
    AccountID: 'string',
    Body: 'string',
    BodyLength: 'int',
    DestAddr: 'string',
    Headers: 'string',
    Host: 'string',
    Method: 'string',
    Password: 'string',
    R2Path: 'string',
    Referrer: 'string',
    SinkholeID: 'string',
    SrcAddr: 'string',
    Timestamp: 'timestamp',
    URI: 'string',
    URL: 'string',
    UserAgent: 'string',
    Username: 'string',
  },
})
