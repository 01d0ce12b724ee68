import type { Test } from 'tap'
import { hideSecrets, redact } from '../../../sinks/index.js'
import type { Destinations, LogpushServices } from '../../../control/logpush/services.js'
import type { LiveLines } from '../../../control/logpush/live-session.js'
import { LiveSessions } from '../../../control/logpush/live-sessions.js'
import { liveLines } from '../../../pipelines/logpush/live.js'
import { openSpools } from '../../../pipelines/logpush/spool/index.js'
import type { Spools } from '../../../pipelines/logpush/spool/types.js'
import { systemClock } from '../../../src/core/clock.js'
import { InvalidInput } from '../../../src/core/errors.js'
import { silentLog } from '../../../src/core/log.js'
import type { Scope } from '../../../src/core/scope.js'
import { SinkError, type Batch, type Sink } from '../../../src/core/sink.js'
import { Keyring } from '../../../src/store/secrets/keyring.js'
import { ACCOUNT, ADMIN, client, handClock, ZONE, type TestResponse, type Client } from '../client.js'
import { testFolder } from '../../helpers/folder.js'

export const JOBS = `/zones/${ZONE}/logpush/jobs`
export const ACCOUNT_JOBS = `/accounts/${ACCOUNT}/logpush/jobs`
/** A destination with a secret in it. */
export const HTTPS = 'https://logs.example.com/in?header_Authorization=Bearer%20hunter2&x=1'

/** Destinations that remember what was asked of them; those of `down` refuse. */
export class TestDestinations implements Destinations {
  readonly down = new Set<string>()
  /** Destinations that were tried out, in order. */
  readonly reached: string[] = []
  /** Files that were written, by their paths. */
  readonly files = new Map<string, string>()
  /** Gets batches. */
  write: ((batch: Batch) => Promise<void>) | undefined
  /** The response of a destination that accepts the test, or the body of one that refuses it. */
  body = ''
  /** Runs while a destination is being tried out. */
  whileChecking: (() => Promise<void>) | undefined

  check(destination: string): void {
    if (!/^(s3|https|file|down):\/\/./.test(destination))
      throw new InvalidInput([{ pointer: '', message: 'has no scheme that is known' }])
  }

  open(destination: string): Sink {
    const refuse = () => {
      if (destination.startsWith('down:') || this.down.has(destination))
        throw new SinkError('refused', 'logs.example.com responded with 403', {
          response: { status: 403, body: this.body },
        })
    }
    const sink: Sink = {
      encoding: 'gzip',
      limits: {},
      daily: false,
      write: async (batch) => await this.write?.(batch),
      check: async () => {
        this.reached.push(destination)
        await this.whileChecking?.()
        refuse()
        return destination.startsWith('https:') ? { status: 200, body: this.body } : undefined
      },
      close: async () => {},
    }
    if (!destination.startsWith('s3:')) return sink
    return {
      ...sink,
      put: async (name, text) => {
        refuse()
        const path = `${destination.slice('s3://'.length).split('?', 1)[0]}/${name}`
        this.files.set(path, text)
        return path
      },
    }
  }

  redact = redact
  hideSecrets = hideSecrets

  needsOwnership(destination: string): boolean {
    return destination.startsWith('s3:') && !destination.includes('access-key-id')
  }
}

export interface LogpushClient extends Client {
  readonly destinations: TestDestinations
  readonly spools: Spools
  readonly engine: LogpushServices
  /** Sends records as they are. */
  send(
    path: string,
    body: string | Uint8Array | ReadableStream,
    headers?: Record<string, string>,
  ): Promise<TestResponse>
  /** The records that a spool holds, as JSON texts; a reader has to be there before they come. */
  kept(dataset: string, scope: Scope): Promise<string[]>
}

/** The API with log push over real spools and destinations that are all in memory. */
export async function logpushClient(
  t: Test,
  {
    jobs = 4,
    spoolBytes = 1e9,
    services = {},
  }: { jobs?: number; spoolBytes?: number; services?: Partial<LogpushServices> } = {},
): Promise<LogpushClient> {
  const clock = handClock()
  const ring = new Keyring([Buffer.alloc(32, 7)])
  const spools = await openSpools(testFolder(t), { clock: systemClock, log: silentLog, limits: { bytes: spoolBytes } })
  const destinations = new TestDestinations()
  let streams = 0
  const lines: LiveLines = async function* (scope, job, signal) {
    const spool = await spools.open(job.dataset.name, scope)
    const cursor = await spool.cursor(`live-${++streams}`)
    try {
      yield* liveLines(spool, cursor, job, { clock: systemClock, signal })
    } finally {
      await cursor.remove()
    }
  }
  const live = new LiveSessions({ lines, clock, log: silentLog })
  const engine: LogpushServices = {
    vault: ring,
    challengeKeys: ring.derivedKeys('test'),
    destinations,
    spools,
    live,
    settled: async () => {},
    settledFor: async () => {},
    limits: () => ({ jobs_per_scope: jobs, filter: { comparisons: 30, bytes: 1000 } }),
    ...services,
  }
  const made = await client(t, { logpush: engine, clock })
  t.teardown(async () => {
    await live.close()
    await spools.close()
  })
  return {
    ...made,
    destinations,
    spools,
    engine,
    async send(path, body, headers = {}) {
      const response = await fetch(made.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${ADMIN}`, ...headers },
        body,
        duplex: 'half',
      })
      return { status: response.status, headers: response.headers, body: await response.json() }
    },
    async kept(dataset, scope) {
      const spool = await spools.open(dataset, scope)
      const lines: string[] = []
      for (let at = spool.start; at < spool.end;) {
        const frame = await spool.frame(at)
        if (!frame) break
        for (let index = 0; index < frame.count; index++) lines.push(Buffer.from(frame.line(index)).toString())
        at = frame.first + frame.count
      }
      return lines
    },
  }
}
