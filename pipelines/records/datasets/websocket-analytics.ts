import { dataset } from '../dataset.js'

// Both times are plain nanoseconds here, whatever `timestamp_format` says.
export const websocketAnalytics = dataset({
  name: 'websocket_analytics',
  scopes: ['account', 'zone'],
  clock: 'timestampStartNanos',
  fields: {
    accountId: 'int',
    byteRecvDownlink: 'int',
    byteRecvUplink: 'int',
    byteSentDownlink: 'int',
    byteSentUplink: 'int',
    clientASN: 'int',
    clientIP: 'string',
    clientRequestHTTPHost: 'string',
    clientRequestPath: 'string',
    clientRequestUserAgent: 'string',
    coloCode: 'string',
    connectionCloseReason: 'string',
    connectionCloseSource: 'string',
    connectionId: 'string',
    rayId: 'string',
    timestampEndNanos: 'int',
    timestampStartNanos: 'int',
    transportCloseCode: 'int',
    zoneId: 'int',
  },
})
