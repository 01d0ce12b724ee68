import type { Permission } from '../permissions.js'

export const KV_WRITE = ['Workers KV Storage Write'] as const satisfies readonly Permission[]
export const KV_READ = ['Workers KV Storage Read', ...KV_WRITE] as const satisfies readonly Permission[]
export const R2_WRITE = ['Workers R2 Storage Write'] as const satisfies readonly Permission[]
export const R2_READ = ['Workers R2 Storage Read', ...R2_WRITE] as const satisfies readonly Permission[]
export const D1_WRITE = ['D1 Write'] as const satisfies readonly Permission[]
export const D1_READ = ['D1 Read', ...D1_WRITE] as const satisfies readonly Permission[]
