import { randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import type { Test } from 'tap'
import { openSink } from '../../sinks/index.js'
import type { SinkDeps } from '../../sinks/contract/sink-type.js'
import { SinkError, type Sink, type SinkFailure } from '../../src/core/sink.js'
import type { Egress } from '../../src/egress/egress.js'
import { testEgress } from '../helpers/egress.js'
import type { Fault } from '../helpers/http-receiver.js'
import { batchOf, sinkDeps } from '../helpers/sink-deps.js'
import { until } from '../helpers/web.js'

/** A destination of a test, and its observable state. */
export interface SinkPlace {
  /** Its `destination_conf`, on 127.0.0.1. */
  readonly conf: string
  /** Egress that reaches it, and no other address that is not public. */
  readonly egress: Egress
  /** Parts of `conf` that must not appear in an error. */
  readonly secrets: readonly string[]
  /** Returns the text of each stored batch: in order of arrival, or of name if names overwrite. */
  delivered(): readonly string[] | Promise<readonly string[]>
  /** Sets the failure of all further requests, in the terms of the destination. */
  fail(fault: Fault | undefined): void
  /** Number of requests that failed. */
  failed(): number
  /** Connections that are open now; 0 if it uses none. */
  connections(): number
  /** Opens it, if its `conf` is not sufficient. */
  open?(deps: SinkDeps): Sink
}

export interface SinkTraits {
  /** Whether a repeated batch replaces the first. False: it is stored twice. */
  readonly overwrites: boolean
  /** Whether it respects Retry-After. False for protocols without it. */
  readonly retryAfter?: boolean
  /** Failures that it supports. Default: all. */
  readonly faults?: { readonly [kind in SinkFailure]?: Fault }
  readonly deps?: Partial<SinkDeps>
  /** It is local: no connections that break or hang, and no address to guard. */
  readonly local?: boolean
  /** Batches cannot be distinguished in what it stores. */
  readonly joined?: boolean
}

const FAULTS: { readonly [kind in SinkFailure]: Fault } = {
  transient: { status: 500, body: 'internal error' },
  refused: { status: 403, body: 'forbidden' },
  too_large: { status: 413 },
}

const patient = new AbortController().signal
const TEXT = '{"RayID":"1","EdgeStartTimestamp":1506702504433000200,"Path":"/é/\\u0000"}\n{"RayID":"2","Path":null}\n'

/** Lines of JSON, of at least `bytes`, that no compression reduces much. */
function manyLines(bytes: number): string {
  let text = ''
  while (text.length < bytes) text += `{"RayID":"${randomBytes(600).toString('base64')}"}\n`
  return text
}

/** Tests every sink. `place` creates a destination for one test; it is called for each test. */
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

  t.test('a batch of any size arrives unchanged', async (t) => {
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
    t.test(`a failure that is ${failure} is reported as such, and the next attempt succeeds`, async (t) => {
      const { at, sink, batch } = await opened(t)
      at.fail(fault)
      t.equal((await failed(t, at, sink.write(batch, patient))).failure, failure)
      await failed(t, at, sink.check(patient))
      at.fail(undefined)
      await sink.write(batch, patient)
      t.same(await at.delivered(), [TEXT])
    })

  if (retryAfter)
    t.test('the Retry-After of a busy destination is returned', async (t) => {
      const { at, sink, batch } = await opened(t)
      for (const [status, value, retryAfterMs] of BUSY) {
        at.fail({ status, headers: { 'retry-after': value } })
        const error = await failed(t, at, sink.write(batch, patient))
        t.match(error, { failure: 'transient', retryAfterMs }, value)
      }
    })

  t.test('an attempt that is aborted before it begins does nothing', async (t) => {
    const { at, sink, batch } = await opened(t)
    const gone = AbortSignal.abort(new Error('given up'))
    await t.rejects(sink.write(batch, gone), { message: 'given up' })
    t.same((await at.delivered()).join(''), '')
    await sink.write(batch, patient)
    t.same(await at.delivered(), [TEXT])
  })

  t.test('a check succeeds if the destination accepts data', async (t) => {
    const { sink } = await opened(t)
    await sink.check(patient)
  })

  if (local) return

  t.test('a connection that breaks midway is a transient failure', async (t) => {
    const { at, sink } = await opened(t)
    const batch = batchOf(manyLines(500_000), sink.encoding)
    at.fail('reset')
    t.equal((await failed(t, at, sink.write(batch, patient))).failure, 'transient')
    at.fail(undefined)
    await sink.write(batch, patient)
    t.equal((await at.delivered()).length, 1)
  })

  t.test('an attempt that is aborted ends immediately, with the reason', async (t) => {
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

  t.test('an address that is not public is not reached unless it is allowed', async (t) => {
    const at = await place(t)
    const sink = openSink(at.conf, sinkDeps({ ...deps, egress: await testEgress() }))
    t.teardown(() => sink.close())
    const attempts = [
      async () => await sink.write(batchOf(TEXT, sink.encoding), patient),
      async () => await sink.check(patient),
    ]
    // A name that only the allowed egress knows does not resolve here.
    const message = /the destination address is not allowed|does not resolve to an address/
    for (const attempt of attempts) t.match(await failed(t, at, attempt()), { failure: 'refused', message })
    t.equal(at.connections(), 0)
  })
}

const BUSY: [status: number, value: string, ms: number][] = [
  [429, '7', 7000],
  [503, 'Sat, 21 Nov 2026 12:01:00 GMT', 60_000],
]

/** Returns the error of an attempt. It must be a SinkError that never contains a secret. */
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
