import type { NamedExport } from '../../core/model/worker.js'

/** Returns the name of the entrypoint that a service binding calls. Undefined for the default export. */
export const namedEntrypoint = (name: unknown): string | undefined =>
  typeof name === 'string' && name !== '' && name !== 'default' ? name : undefined

/** Returns whether a version with these exports has an entrypoint. The class of a Durable Object is not an entrypoint. */
export const hasEntrypoint = (named: readonly NamedExport[], name: string): boolean =>
  named.some((one) => one.name === name && one.kind !== 'durable-object')
