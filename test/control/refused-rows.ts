import type { Test } from 'tap'
import { audited } from './areas-helper.js'
import type { Client } from './client.js'

/** A request that is refused: with which status and code, and where in it; no pointer: its one error has none. */
export type RefusedRow = readonly [
  what: string,
  method: string,
  path: string,
  body: unknown,
  status: number,
  code: number,
  pointer?: string | undefined,
]

/** Makes each request: it has to be refused with one error that is told where it stands, and nothing may be stored. */
export async function refusesAll(
  t: Test,
  { call, store }: Pick<Client, 'call' | 'store'>,
  rows: readonly RefusedRow[],
): Promise<void> {
  const stored = async () => [[...store.records()].length, (await audited(store)).length]
  const before = await stored()
  for (const [what, method, path, body, status, code, pointer] of rows) {
    const response = await call(method, path, body)
    t.match(response, { status, body: { success: false, result: null } }, what)
    t.equal(response.body.errors.length, 1, what)
    t.equal(response.body.errors[0].code, code, what)
    t.equal(response.body.errors[0].source?.pointer, pointer, what)
  }
  t.same(await stored(), before, 'nothing was stored')
}

/** Asks with each query: it has to be refused with the name of the parameter. */
export async function refusesQueries(
  t: Test,
  { call }: Pick<Client, 'call'>,
  rows: readonly (readonly [path: string, query: string, pointer: string])[],
): Promise<void> {
  for (const [path, query, pointer] of rows)
    t.match(
      await call('GET', `${path}?${query}`),
      { status: 400, body: { errors: [{ code: 10002, source: { pointer } }] } },
      query,
    )
}
