import { dataset } from '../dataset.js'

export const mcpPortalLogs = dataset({
  name: 'mcp_portal_logs',
  scopes: ['account'],
  clock: 'Datetime',
  fields: {
    ClientCountry: 'string',
    ClientIP: 'string',
    ColoCode: 'string',
    Datetime: 'timestamp',
    Error: 'string',
    Method: 'string',
    PortalAUD: 'string',
    PortalID: 'string',
    PromptGetName: 'string',
    ResourceReadURI: 'string',
    ServerAUD: 'string',
    ServerID: 'string',
    ServerResponseDurationMs: 'int',
    ServerURL: 'string',
    SessionID: 'string',
    Success: 'bool',
    ToolCallName: 'string',
    UserEmail: 'string',
    UserID: 'string',
  },
})
