import { dataset } from '../dataset.js'

export const dnsLogs = dataset({
  name: 'dns_logs',
  scopes: ['zone'],
  clock: 'Timestamp',
  fields: {
    ColoCode: 'string',
    EDNSSubnet: 'string',
    EDNSSubnetLength: 'int',
    QueryName: 'string',
    QueryType: 'int',
    ResponseCached: 'bool',
    ResponseCode: 'int',
    SourceIP: 'string',
    Timestamp: 'timestamp',
  },
})
