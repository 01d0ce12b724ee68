import { dataset } from '../dataset.js'

export const sshLogs = dataset({
  name: 'ssh_logs',
  scopes: ['account'],
  clock: 'Datetime',
  fields: {
    AccountID: 'string',
    ClientAddress: 'string',
    Datetime: 'timestamp',
    Error: 'string',
    PTY: 'string',
    Payload: 'string',
    ProgramFinishDatetime: 'timestamp',
    ProgramID: 'string',
    ProgramStartDatetime: 'timestamp',
    ProgramType: 'string',
    ServerAddress: 'string',
    SessionFinishDatetime: 'timestamp',
    SessionID: 'string',
    SessionStartDatetime: 'timestamp',
    TargetID: 'string',
    UserEmail: 'string',
    UserID: 'string',
    Username: 'string',
  },
})
