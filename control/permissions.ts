import { createHash } from 'node:crypto'
import { PERMISSIONS } from '../src/core/permissions.js'

export { PERMISSIONS, type Permission } from '../src/core/permissions.js'

/** The id of a permission group: the same on every installation. */
export const permissionId = (name: string): string =>
  createHash('sha256').update(`permission:${name}`).digest('hex').slice(0, 32)

/** The name that belongs to the id of a permission group. */
export const PERMISSION_NAMES: ReadonlyMap<string, string> = new Map(
  ['*', ...PERMISSIONS].map((name) => [permissionId(name), name]),
)
