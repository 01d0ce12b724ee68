/** What every log spool does, in a folder or on servers that machines share. */
import t, { type Test } from 'tap'
import { MalformedRecord } from '../../pipelines/records/index.js'
import { SpoolFull, type Spool, type Spools } from '../../pipelines/logpush/spool/types.js'
import { account, zone } from '../../src/core/scope.js'
import { append, lines, rest } from '../pipelines/logpush/spool-helper.js'

const ZONE = zone('9f1839b6152d298aca64c4e906b6d074')

export interface SpoolSetup {
  readonly spools: Spools
  /** Closes them and opens what is stored again. */
  reopen(): Promise<Spools>
  /** Records that were lost, by reason. */
  lost(): Promise<Record<string, number>>
}

export interface SpoolSubject {
  readonly name: string
  /** Why it cannot be tested here. */
  readonly skip: string | false
  open(t: Test, limits: { readonly bytes: number }): Promise<SpoolSetup>
}

const BYTES = 200_000_000

/** Runs the suite. */
export function spoolContract({ name, skip, open }: SpoolSubject): void {
  const test = (what: string, body: (t: Test) => Promise<void>) =>
    t.test(`${name}: ${what}`, skip === false ? {} : { skip }, body)
  const one = async (t: Test, bytes = BYTES) => {
    const setup = await open(t, { bytes })
    return { ...setup, spool: await setup.spools.open('http_requests', ZONE) }
  }

  test('records come back in their order, with ascending positions', async (t) => {
    const { spool } = await one(t)
    await spool.cursor('job')
    await append(spool, [{ RayID: 'a' }, { RayID: 'b', ClientRequestURI: '/é"x' }])
    await append(spool, [{}, { RayID: 'c' }])
    const found = await rest(spool)
    t.strictSame(
      found.map(({ line }) => line),
      ['{"RayID":"a"}', '{"ClientRequestURI":"/é\\"x","RayID":"b"}', '{}', '{"RayID":"c"}'],
    )
    const positions = found.map(({ position }) => position)
    t.strictSame(
      positions,
      [...new Set(positions)].sort((a, b) => a - b),
    )
    t.ok(positions.every((position) => position >= spool.start && position < spool.end))
    t.strictSame(await rest(spool, positions[2]), found.slice(2), 'from the middle on, the same positions')
    t.equal(spool.behind(positions[1]!), 3)
    t.equal(await spool.frame(spool.end), undefined)
    const last = (await spool.before(spool.end))!
    t.equal(Buffer.from(last.line(last.count - 1)).toString(), '{"RayID":"c"}')
    const before = (await spool.before(last.first))!
    t.equal(Buffer.from(before.line(0)).toString(), '{"RayID":"a"}')
    t.equal(await spool.before(before.first), undefined)
  })

  test('a malformed record is rejected, and the others of the writer stay', async (t) => {
    const { spool } = await one(t)
    await spool.cursor('job')
    const writer = spool.writer()
    writer.add(Buffer.from('{"RayID":"a"}'))
    t.throws(() => writer.add(Buffer.from('{"RayID":')), MalformedRecord)
    await writer.commit()
    t.equal(writer.count, 0)
    t.strictSame(await lines(spool), ['{"RayID":"a"}'])
  })

  test('large and many records are split into frames, and all are there', async (t) => {
    const { spool } = await one(t)
    await spool.cursor('job')
    const large = 'x'.repeat(300_000)
    const records = Array.from({ length: 40 }, (_, n) => ({ RayID: `r${n}`, ClientRequestURI: n % 10 ? '/' : large }))
    await append(spool, records)
    const found = (await lines(spool)).map((line) => JSON.parse(line) as object)
    t.strictSame(
      found,
      records.map(({ RayID, ClientRequestURI }) => ({ ClientRequestURI, RayID })),
    )
  })

  test('datasets and scopes are apart', async (t) => {
    const { spools, spool } = await one(t)
    const dns = await spools.open('dns_logs', ZONE)
    const other = await spools.open('http_requests', zone('1f1839b6152d298aca64c4e906b6d074'))
    const audit = await spools.open('audit_logs', account('a.b*c'))
    for (const each of [spool, dns, other, audit]) await each.cursor('job')
    await append(spool, [{ RayID: 'a' }])
    await append(other, [{ RayID: 'b' }])
    await append(audit, [{ ID: 'c' }])
    t.strictSame([await lines(spool), await lines(dns), await lines(other)], [['{"RayID":"a"}'], [], ['{"RayID":"b"}']])
    t.strictSame(await lines(audit), ['{"ID":"c"}'])
    t.equal(await spools.open('http_requests', ZONE), spool)
  })

  test('a new cursor begins at the end, and without one nothing is kept', async (t) => {
    const { spool } = await one(t)
    await append(spool, [{ RayID: 'nobody' }])
    await spool.cursor('first')
    await append(spool, [{ RayID: 'a' }])
    const second = await spool.cursor('second')
    await append(spool, [{ RayID: 'b' }])
    t.strictSame(spool.cursors.slice().sort(), ['first', 'second'])
    t.strictSame(await lines(spool, (await spool.cursor('first')).state.next), ['{"RayID":"a"}', '{"RayID":"b"}'])
    t.strictSame(await lines(spool, second.state.next), ['{"RayID":"b"}'])
  })

  test('cursors, records and the id are there after a restart', async (t) => {
    const { spools, spool, reopen } = await one(t)
    const cursor = await spool.cursor('job')
    await append(spool, [{ RayID: 'a' }, { RayID: 'b' }])
    const [first, second] = await rest(spool)
    const state = {
      next: first!.position,
      batches: [[second!.position, 'one'] as const, [spool.end, 'two'] as const],
    }
    await cursor.save(state)
    const { id } = spools
    const again = await reopen()
    t.equal(again.id, id)
    const opened = await again.open('http_requests', ZONE)
    t.strictSame([...again.all()], [opened])
    t.strictSame(opened.cursors, ['job'])
    t.strictSame((await opened.cursor('job')).state, state)
    t.strictSame(await rest(opened, first!.position), [first, second])
    await append(opened, [{ RayID: 'c' }])
    t.strictSame(await lines(opened, second!.position), ['{"RayID":"b"}', '{"RayID":"c"}'])
  })

  test('a removed cursor begins anew', async (t) => {
    const { spool } = await one(t)
    const cursor = await spool.cursor('job')
    await append(spool, [{ RayID: 'a' }])
    await cursor.remove()
    t.strictSame(spool.cursors, [])
    const again = await spool.cursor('job')
    await append(spool, [{ RayID: 'b' }])
    t.strictSame(await lines(spool, again.state.next), ['{"RayID":"b"}'])
  })

  test('readers wait for what comes', async (t) => {
    const { spool } = await one(t)
    const { next } = (await spool.cursor('job')).state
    const stop = new AbortController()
    const arrived = (async () => {
      for (;;) {
        await spool.waitFor(next, stop.signal)
        const found = await lines(spool, next)
        if (found.length > 0) return found
      }
    })()
    await append(spool, [{ RayID: 'a' }])
    t.strictSame(await arrived, ['{"RayID":"a"}'])
    const beyond = spool.waitFor(spool.end, stop.signal)
    stop.abort(new Error('enough'))
    await t.rejects(beyond, /enough/)
  })

  test('at the limit senders are refused, and nothing undelivered goes', async (t) => {
    const { spool, lost } = await one(t, 4_000_000)
    const cursor = await spool.cursor('job')
    const stored = await fill(spool)
    t.ok(stored > 1000, 'the limit was reached at its size')
    await t.rejects(append(spool, numbered(0, 2000)), SpoolFull)
    t.equal((await lines(spool)).length, stored)
    await cursor.save({ next: spool.end })
    await append(spool, numbered(0, 100))
    t.equal((await lines(spool, cursor.state.next)).length, 100, 'delivered records make room')
    t.strictSame(await lost(), {})
  })

  test('records of the daemon make the oldest go, and the loss is counted', async (t) => {
    const { spool, lost } = await one(t, 4_000_000)
    const cursor = await spool.cursor('job')
    const stored = await fill(spool)
    await append(spool, numbered(stored, 300), { whenFull: 'drop_oldest' })
    const left = (await lines(spool, cursor.state.next)).map(numberIn)
    t.equal(left.at(-1), stored + 299)
    t.strictSame(
      left,
      Array.from({ length: left.length }, (_, n) => stored + 300 - left.length + n),
      'without a gap',
    )
    t.strictSame(await lost(), { limit: stored + 300 - left.length })
  })
}

/** Adds records until the spool refuses them; returns how many it took. */
async function fill(spool: Spool): Promise<number> {
  for (let count = 0; ; count += 100) {
    try {
      await append(spool, numbered(count, 100))
    } catch (error) {
      if (error instanceof SpoolFull) return count
      throw error
    }
  }
}
/** Records of about 1 KB, distinguished by a number. */
const numbered = (from: number, count: number): object[] =>
  Array.from({ length: count }, (_, i) => ({ EdgeResponseBytes: from + i, ClientRequestURI: `/${'x'.repeat(1000)}` }))

const numberIn = (line: string): number => (JSON.parse(line) as { EdgeResponseBytes: number }).EdgeResponseBytes
