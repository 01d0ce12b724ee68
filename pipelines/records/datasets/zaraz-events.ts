import { dataset } from '../dataset.js'

export const zarazEvents = dataset({
  name: 'zaraz_events',
  scopes: ['zone'],
  clock: 'TimestampStart',
  fields: {
    Body: 'object',
    EventDetails: 'object',
    EventType: 'string',
    IP: 'string',
    RequestHeaders: 'object',
    TimestampStart: 'timestamp',
    URL: 'string',
  },
})
