import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import type { Blobs } from '../../src/core/blobs.js'
import type { Clock } from '../../src/core/clock.js'

/** Tests that every implementation of Blobs passes. `move` advances the clock of the implementation. */
export async function blobsContract(t: Test, make: (clock: Clock) => Blobs): Promise<void> {
  let ahead = 0
  let jumped = 0
  let looking = () => {}
  const now = () => {
    looking()
    return Date.now() + ahead + jumped
  }
  const clock: Clock = { now, monotonic: () => Date.now() + ahead, sleep: async () => {} }
  const blobs = make(clock)

  for (const size of [0, 1, 256 * 1024, 1024 * 1024, 3 * 1024 * 1024 + 7]) {
    const bytes = randomBytes(size)
    const name = await blobs.put(bytes)
    t.match(name, /^[0-9a-f]{64}$/)
    t.equal(await blobs.put(bytes), name, 'the same bytes have the same name')
    t.ok((await blobs.get(name))?.equals(bytes), `${size} bytes come back`)
  }
  t.equal(await blobs.get('0'.repeat(64)), undefined)
  for (const hostile of ['', '../../etc/passwd', `${'a'.repeat(63)}/`, 'A'.repeat(64), '__proto__'])
    t.equal(await blobs.get(hostile), undefined)

  const [kept, orphan] = [await blobs.put(Buffer.from('kept')), await blobs.put(Buffer.from('orphan'))]
  t.equal(await blobs.collect(new Set([kept]), 60_000), 0, 'what was put just now may be referenced soon')
  jumped = 86_400_000
  t.equal(
    await blobs.collect(new Set([kept]), 60_000),
    0,
    'a wall clock that is wrong for some minutes deletes nothing',
  )
  jumped = 0
  ahead = 61_000
  const late = await blobs.put(Buffer.from('late'))
  t.equal(await blobs.collect(new Set([kept, late]), 60_000), 6)
  t.equal(await blobs.get(orphan), undefined)
  t.ok(await blobs.get(kept))
  t.ok(await blobs.get(late))

  // An upload that puts an orphan again while the orphan is being removed found it deleted afterwards.
  ahead = 200_000
  let again: Promise<string> | undefined
  looking = () => {
    looking = () => {}
    again = blobs.put(Buffer.from('late'))
  }
  await blobs.collect(new Set([kept]), 60_000)
  t.equal(await again, late)
  t.ok(await blobs.get(late), 'what is put again meanwhile stays')
}
