import { dataset } from '../dataset.js'

export const bisoUserActions = dataset({
  name: 'biso_user_actions',
  scopes: ['account'],
  clock: 'Timestamp',
  fields: {
    AccountID: 'string',
    Decision: 'string',
    DomainName: 'string',
    Metadata: 'string',
    Timestamp: 'timestamp',
    Type: 'string',
    URL: 'string',
    UserEmail: 'string',
    UserID: 'string',
  },
})
