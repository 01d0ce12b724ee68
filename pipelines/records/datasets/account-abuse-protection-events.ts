import { dataset } from '../dataset.js'

export const accountAbuseProtectionEvents = dataset({
  name: 'account_abuse_protection_events',
  scopes: ['zone'],
  clock: 'Timestamp',
  fields: {
    AuthenticationIdentityProvider: 'string',
    AuthenticationMethod: 'string',
    AuthenticationStatus: 'string',
    BotScore: 'int',
    ClientASN: 'int',
    ClientCity: 'string',
    ClientCountry: 'string',
    ClientIP: 'string',
    Email: 'string',
    EphemeralID: 'string',
    EventSource: 'string',
    EventType: 'string',
    FraudEmailRisk: 'string',
    Host: 'string',
    JA4: 'string',
    RayID: 'string',
    Timestamp: 'timestamp',
    UserAgent: 'string',
    UserID: 'string',
  },
})
