import { randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import type { Test } from 'tap'
import { openSink } from '../../sinks/index.js'
import type { SinkDeps } from '../../sinks/sink-type.js'
import { SinkError, type Sink, type SinkFailure } from '../../src/core/sink.js'
import type { Egress } from '../../src/egress/egress.js'
import { testEgress } from '../helpers/egress.js'
import type { Fault } from '../helpers/http-receiver.js'
import { batchOf, sinkDeps } from '../helpers/sink-deps.js'
import { until } from '../helpers/web.js'

/** A destination of a test, and what can be seen of it. */
export interface SinkPlace {
  /** Its `destination_conf`, on 127.0.0.1. */
  readonly conf: string
  /** A way out that reaches it, and nothing else that is not public. */
  readonly egress: Egress
  /** Texts of `conf` that nobody may see in an error. */
  readonly secrets: readonly string[]
  /** The text of each batch that it holds: in order of arrival, or of name where names overwrite. */
  delivered(): readonly string[] | Promise<readonly string[]>
  /** What goes wrong from now on, in the terms of the destination. */
  fail(fault: Fault | undefined): void
  /** How many requests have met a fault. */
  failed(): number
  /** Connections that are open now; 0 where it makes none. */
  connections(): number
  /** Opens it, where that cannot be done by its `conf`. */
  open?(deps: SinkDeps): Sink
}

export interface SinkTraits {
  /** The same batch again takes the place of the first; false: it stands there twice. */
  readonly overwrites: boolean
  /** It heeds Retry-After; false for protocols that have none. */
  readonly retryAfter?: boolean
  /** Faults with which it can be tried; all of them unless told. */
  readonly faults?: { readonly [kind in SinkFailure]?: Fault }
  readonly deps?: Partial<SinkDeps>
  /** It is on this machine: there are no connections that break or hang, and no address to guard. */
  readonly local?: boolean
  /** Where one batch ends and the next one begins cannot be seen. */
  readonly joined?: boolean
}

const FAULTS: { readonly [kind in SinkFailure]: Fault } = {
  transient: { status: 500, body: 'internal error' },
  refused: { status: 403, body: 'forbidden' },
  too_large: { status: 413 },
}

const patient = new AbortController().signal
const TEXT = '{"RayID":"1","EdgeStartTimestamp":1506702504433000200,"Path":"/é/\\u0000"}\n{"RayID":"2","Path":null}\n'

/** Lines of JSON, `bytes` or a little more, that no compression makes much smaller. */
function manyLines(bytes: number): string {
  let text = ''
  while (text.length < bytes) text += `{"RayID":"${randomBytes(600).toString('base64')}"}\n`
  return text
}

/** What every sink does. `place` makes a destination for one test; it is asked again for each. */
export function sinkContract(
  t: Test,
  place: (t: Test) => Promise<SinkPlace>,
  { overwrites, local = false, joined = false, retryAfter = !local, faults = FAULTS, deps = {} }: SinkTraits,
): void {
  const seen = (texts: readonly string[]) => (joined ? [texts.join('')] : texts)
  const opened = async (t: Test) => {
    const at = await place(t)
    const all = sinkDeps({ egress: at.egress, ...deps })
    const sink = at.open?.(all) ?? openSink(at.conf, all)
    t.teardown(() => sink.close())
    return { at, sink, batch: batchOf(TEXT, sink.encoding) }
  }

  t.test('a batch arrives exactly as it is, whatever its size', async (t) => {
    const { at, sink } = await opened(t)
    const large = manyLines(Math.min(3_000_000, (sink.limits.bytes ?? Infinity) - 10_000))
    const texts = [TEXT, large, '{"a":1}\n']
    for (const [index, text] of texts.entries())
      await sink.write(batchOf(text, sink.encoding, { name: `2026112${index}` }), patient)
    const delivered = await at.delivered()
    t.equal(delivered.length, seen(texts).length)
    for (const [index, text] of seen(texts).entries()) t.ok(delivered[index] === text, `batch ${index}`)
  })

  t.test('a connection serves many batches, and closing ends it', async (t) => {
    const { at, sink, batch } = await opened(t)
    for (let i = 0; i < 5; i++) await sink.write(batch, patient)
    t.ok(at.connections() <= 1, 'one connection at most')
    await sink.close()
    await until(() => at.connections() === 0)
  })

  t.test('the same batch again has the same bytes and name', async (t) => {
    const { at, sink, batch } = await opened(t)
    await sink.write(batch, patient)
    await sink.write(batch, patient)
    t.same(await at.delivered(), overwrites ? [TEXT] : seen([TEXT, TEXT]))
  })

  for (const [failure, fault] of Object.entries(faults) as [SinkFailure, Fault][])
    t.test(`a failure that is ${failure} is told as such, and the next attempt succeeds`, async (t) => {
      const { at, sink, batch } = await opened(t)
      at.fail(fault)
      t.equal((await failed(t, at, sink.write(batch, patient))).failure, failure)
      await failed(t, at, sink.check(patient))
      at.fail(undefined)
      await sink.write(batch, patient)
      t.same(await at.delivered(), [TEXT])
    })

  if (retryAfter)
    t.test('what a busy destination asks to wait is passed on', async (t) => {
      const { at, sink, batch } = await opened(t)
      for (const [status, value, retryAfterMs] of BUSY) {
        at.fail({ status, headers: { 'retry-after': value } })
        const error = await failed(t, at, sink.write(batch, patient))
        t.match(error, { failure: 'transient', retryAfterMs }, value)
      }
    })

  t.test('an attempt that is given up before it begins does nothing', async (t) => {
    const { at, sink, batch } = await opened(t)
    const gone = AbortSignal.abort(new Error('given up'))
    await t.rejects(sink.write(batch, gone), { message: 'given up' })
    t.same((await at.delivered()).join(''), '')
    await sink.write(batch, patient)
    t.same(await at.delivered(), [TEXT])
  })

  t.test('a check succeeds where the destination takes something', async (t) => {
    const { sink } = await opened(t)
    await sink.check(patient)
  })

  if (local) return

  t.test('a connection that breaks midway is a failure that passes', async (t) => {
    const { at, sink } = await opened(t)
    const batch = batchOf(manyLines(500_000), sink.encoding)
    at.fail('reset')
    t.equal((await failed(t, at, sink.write(batch, patient))).failure, 'transient')
    at.fail(undefined)
    await sink.write(batch, patient)
    t.equal((await at.delivered()).length, 1)
  })

  t.test('an attempt that is given up ends at once, with the reason', async (t) => {
    const { at, sink, batch } = await opened(t)
    at.fail('hang')
    const [reason, attempt] = [new Error('given up'), new AbortController()]
    const writing = t.rejects(sink.write(batch, attempt.signal), { message: 'given up' })
    await until(() => at.failed() > 0)
    attempt.abort(reason)
    await writing
    await t.rejects(sink.write(batch, attempt.signal), { message: 'given up' }, 'and does not begin again')
    at.fail(undefined)
    await sink.write(batch, patient)
    t.same(await at.delivered(), [TEXT])
  })

  t.test('what is not public is not reached unless it is opened', async (t) => {
    const at = await place(t)
    const sink = openSink(at.conf, sinkDeps({ ...deps, egress: await testEgress() }))
    t.teardown(() => sink.close())
    const attempts = [
      async () => await sink.write(batchOf(TEXT, sink.encoding), patient),
      async () => await sink.check(patient),
    ]
    for (const attempt of attempts)
      t.match(await failed(t, at, attempt()), { failure: 'refused', message: /not publicly reachable/ })
    t.equal(at.connections(), 0)
  })
}

const BUSY: [status: number, value: string, ms: number][] = [
  [429, '7', 7000],
  [503, 'Sat, 21 Nov 2026 12:01:00 GMT', 60_000],
]

/** The error of an attempt, which has to be a SinkError that tells no secret, however it is shown. */
async function failed(t: Test, { secrets }: SinkPlace, attempt: Promise<unknown>): Promise<SinkError> {
  const error = await attempt.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof SinkError)) throw new Error('no SinkError', { cause: error })
  const shown = inspect(error, { depth: 20, showHidden: true }) + JSON.stringify(error)
  for (const secret of secrets) t.notOk(shown.includes(secret), 'no secret in the error')
  return error
}
