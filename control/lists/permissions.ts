import type { Permission } from '../permissions.js'

export const WRITE = ['Account Filter Lists Write'] as const satisfies readonly Permission[]
export const READ = ['Account Filter Lists Read', ...WRITE] as const satisfies readonly Permission[]
