import type { Test } from 'tap'
import type { AuditEntry, Store } from '../../src/core/store.js'
import type { Client } from './client.js'

/** The audit record, oldest first. */
export async function audited(store: Store): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = []
  for await (const { entry } of store.audit()) entries.push(entry)
  return entries
}

/** A call that is refused; the pointer of its one error is undefined where there is none. */
export type Bad = [
  what: string,
  method: string,
  path: string,
  body: unknown,
  status: number,
  code: number,
  pointer: string | undefined,
]

/** Makes calls, each of which has to be refused with one error, and told where that stands. */
export async function allRefused(t: Test, call: Client['call'], bad: readonly Bad[]): Promise<void> {
  for (const [what, method, path, body, status, code, pointer] of bad) {
    const answer = await call(method, path, body)
    t.match(answer, { status, body: { success: false, result: null } }, what)
    t.equal(answer.body.errors.length, 1, what)
    t.equal(answer.body.errors[0].code, code, what)
    t.equal(answer.body.errors[0].source?.pointer, pointer, what)
  }
}

/** The names of what a list has, host names included. */
export const names = ({ body }: Awaited<ReturnType<Client['call']>>): string[] =>
  body.result.map(({ hostname, name }: { hostname?: string; name?: string }) => hostname ?? name)
