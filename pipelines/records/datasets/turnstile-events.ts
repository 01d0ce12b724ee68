import { dataset } from '../dataset.js'

export const turnstileEvents = dataset({
  name: 'turnstile_events',
  scopes: ['account'],
  clock: 'Timestamp',
  fields: {
    ASN: 'int',
    Action: 'string',
    BrowserMajor: 'int',
    BrowserName: 'string',
    ClientIP: 'string',
    CountryCode: 'string',
    EventType: 'string',
    Hostname: 'string',
    OSMajor: 'int',
    OSName: 'string',
    Sitekey: 'string',
    Timestamp: 'timestamp',
    UserAgent: 'string',
  },
})
