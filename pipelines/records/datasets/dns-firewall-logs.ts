import { dataset } from '../dataset.js'

export const dnsFirewallLogs = dataset({
  name: 'dns_firewall_logs',
  scopes: ['account'],
  clock: 'Timestamp',
  fields: {
    ClientResponseCode: 'int',
    ClusterID: 'string',
    ColoCode: 'string',
    EDNSSubnet: 'string',
    EDNSSubnetLength: 'int',
    QueryDO: 'bool',
    QueryName: 'string',
    QueryRD: 'bool',
    QuerySize: 'int',
    QueryTCP: 'bool',
    QueryType: 'int',
    ResponseCached: 'bool',
    ResponseCachedStale: 'bool',
    ResponseReason: 'string',
    SourceIP: 'string',
    Timestamp: 'timestamp',
    UpstreamIP: 'string',
    UpstreamResponseCode: 'int',
    UpstreamResponseTimeMs: 'int',
  },
})
