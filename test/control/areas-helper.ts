import type { AuditEntry, Store } from '../../src/core/store.js'
import type { Client } from './client.js'

/** The audit record, oldest first. */
export async function audited(store: Store): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = []
  for await (const { entry } of store.audit()) entries.push(entry)
  return entries
}

/** The names of what a list has, host names included. */
export const names = ({ body }: Awaited<ReturnType<Client['call']>>): string[] =>
  body.result.map(({ hostname, name }: { hostname?: string; name?: string }) => hostname ?? name)
