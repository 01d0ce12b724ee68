import { dataset } from '../dataset.js'

export const auditLogs = dataset({
  name: 'audit_logs',
  scopes: ['account'],
  clock: 'When',
  fields: {
    ActionResult: 'bool',
    ActionType: 'string',
    ActorEmail: 'string',
    ActorID: 'string',
    ActorIP: 'string',
    ActorType: 'string',
    ID: 'string',
    Interface: 'string',
    Metadata: 'object',
    NewValue: 'object',
    OldValue: 'object',
    OwnerID: 'string',
    ResourceID: 'string',
    ResourceType: 'string',
    When: 'timestamp',
  },
})
