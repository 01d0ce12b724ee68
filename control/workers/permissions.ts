import type { Permission } from '../permissions.js'

export const READ: readonly Permission[] = ['Workers Scripts Read', 'Workers Scripts Write', 'Workers Tail Read']
export const WRITE: readonly Permission[] = ['Workers Scripts Write']
export const ACCOUNT_ONLY = ['account'] as const
