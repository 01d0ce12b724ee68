import { writeSync } from 'node:fs'
import { silentLog } from '../../src/core/log.js'
import { account } from '../../src/core/scope.js'
import { kind, type AuditEntry, type Store } from '../../src/core/store.js'
import { openStore } from '../../src/store/index.js'

/** Three records that one writer always sets to the same number, in one batch. */
export const PARTS = ['a', 'b', 'c']
export const WRITERS = 8
export const COUNTS = kind<{ readonly n: number; readonly filler: string }>('count')
export const SCOPE = account('crash')

/** Writes until the store rejects a write. Reports each confirmed batch. */
export async function writeOn(store: Store, writer: number, confirmed: (n: number) => void): Promise<void> {
  for (let n = numberOf(store, writer) + 1; ; n += 1) {
    const filler = 'x'.repeat((n * 37) % 3000)
    const writes = PARTS.map((part) => ({ kind: COUNTS, scope: SCOPE, id: `${writer}${part}`, value: { n, filler } }))
    await store.batch(writes, [entry(writer, n)])
    confirmed(n)
  }
}

export const numberOf = (store: Store, writer: number): number =>
  store.get(COUNTS, SCOPE, `${writer}${PARTS[0]}`)?.value.n ?? 0

const entry = (writer: number, n: number): AuditEntry => ({
  at: '2026-11-21T00:00:00Z',
  actor: { type: 'writer', id: String(writer) },
  action: 'count',
  resource: { kind: COUNTS.name, scope: SCOPE, id: String(writer) },
  requestId: String(n),
  before: null,
  after: null,
})

// As a separate program: writes to the embedded store in the given folder, and prints what was confirmed.
const folder = process.argv[2]
if (process.argv[1]?.includes('crash-writer') && folder !== undefined) {
  const store = await openStore('embedded', { folder, log: silentLog })
  const writers = Array.from({ length: WRITERS }, (_, writer) =>
    writeOn(store, writer, (n) => writeSync(1, `${writer} ${n}\n`)),
  )
  await Promise.all(writers)
}
