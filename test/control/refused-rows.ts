import type { Test } from 'tap'
import type { Client } from './client.js'

/** A request that is refused: with which status and code, and where in it. */
export type RefusedRow = readonly [
  what: string,
  method: string,
  path: string,
  body: unknown,
  status: number,
  code: number,
  pointer?: string,
]

/** Sends each request and looks at how it is refused, and that nothing was stored. */
export async function refusesAll(
  t: Test,
  { call, store }: Pick<Client, 'call' | 'store'>,
  rows: readonly RefusedRow[],
): Promise<void> {
  const before = [...store.records()].length
  for (const [what, method, path, body, status, code, pointer] of rows) {
    const error = { code, ...(pointer !== undefined && { source: { pointer } }) }
    const answer = await call(method, path, body)
    t.match({ status: answer.status, body: answer.body }, { status, body: { errors: [error] } }, what)
  }
  t.equal([...store.records()].length, before, 'nothing was stored')
}
