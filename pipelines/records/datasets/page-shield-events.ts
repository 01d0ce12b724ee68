import { dataset } from '../dataset.js'

export const pageShieldEvents = dataset({
  name: 'page_shield_events',
  scopes: ['zone'],
  clock: 'Timestamp',
  deprecated: ['URLContainsCDNCGIPath'],
  fields: {
    Action: 'string',
    CSPDirective: 'string',
    Host: 'string',
    PageURL: 'string',
    PolicyID: 'string',
    ResourceType: 'string',
    Timestamp: 'timestamp',
    URL: 'string',
    URLContainsCDNCGIPath: 'bool',
    URLHost: 'string',
  },
})
