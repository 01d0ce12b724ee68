import type { Permission } from '../permissions.js'

export const WRITE = ['Zero Trust Write'] as const satisfies readonly Permission[]
export const READ = ['Zero Trust Read', ...WRITE] as const satisfies readonly Permission[]

export const ACCOUNT_ONLY = ['account'] as const
export const POSTURE = '/data-security/posture'
