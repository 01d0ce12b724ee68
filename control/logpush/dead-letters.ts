import { Readable } from 'node:stream'
import { Type, type Static } from 'typebox'
import type { DeadLetterEntry } from '../../pipelines/logpush/dead-letter-index.js'
import { LOST_KEY } from '../../pipelines/logpush/destination.js'
import { compileJob } from '../../pipelines/logpush/settings/compiled-job.js'
import { assertNoIssues, InvalidInput } from '../../src/core/errors.js'
import { orNull, strict } from '../../src/core/schema.js'
import type { Scope } from '../../src/core/scope.js'
import { area } from '../http/area.js'
import { FileResponse } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { page, paging } from '../http/paging.js'
import { ACCESS } from '../http/permissions.js'
import type { JobRepository } from './job-repository.js'
import { DeadLetterUnreadable, type DeadLetters, type LogpushDeps } from './services.js'

const PATH = '/logpush/jobs/:job_id/edged/dead-letters'
const NDJSON = 'application/x-ndjson'
/** Dead letters that one call sends again. */
const MAX_REPLAYED = 100
/** The call ends after this time, between two batches. */
const REPLAY_MS = 30_000
/** Calls that send or stream dead letters concurrently. */
const MAX_CONCURRENT = 4

const count = (description: string) => Type.Integer({ minimum: 0, description })
const Id = Type.String({ minLength: 1, maxLength: 300 })

const Shown = Type.Object({
  id: Type.String({ description: 'Name of the batch.' }),
  at: Type.String({ description: 'When the destination rejected the records.' }),
  records: count('Rejected records.'),
  bytes: count('Before compression.'),
  reason: Type.Enum(['too_large', 'refused'], {
    description: 'too_large: one record is larger than the destination accepts; refused: their content was rejected.',
  }),
  error: Type.String({ description: 'Message of the destination of the job.' }),
  is_local: Type.Boolean({ description: 'The records can be read and sent again here.' }),
  replayed_at: orNull(Type.String({ description: 'Null if they were not sent again.' })),
})

const Replayed = Type.Object({
  dead_letters: Type.Array(
    Type.Object({
      id: Type.String(),
      delivered: count('Records that the destination accepted, those of earlier calls included.'),
      failed: count('Records that it rejected again. They are a dead letter of their own.'),
      left: count('Records that were not sent yet.'),
      error: orNull(Type.String({ description: 'Why records are left; null if none are.' })),
    }),
  ),
  remaining: count('Dead letters that were not sent again yet.'),
})

const rows = area(
  { scopes: ['account', 'zone'], access: ACCESS.logpush, refusal: 'badLogpush' },
  ({ logpush }: LogpushDeps, repository: JobRepository) => {
    const slots = new Slots()
    const letters = (): DeadLetters => {
      const { deadLetters } = logpush()
      if (!deadLetters) throw new ApiError('deadLetterUnreadable')
      return deadLetters
    }
    const listed = async (scope: Scope, id: string): Promise<readonly DeadLetterEntry[]> => {
      repository.get(scope, id)
      return (await logpush().deadLetters?.list(id)) ?? []
    }
    return { logpush, repository, slots, letters, listed }
  },
)

/** Records that the destination of a job never accepted, which the dead letter destination has. */
export const deadLetters = rows.endpoints([
  rows.get(PATH, {
    summary: 'List the dead letters of a log push job on this machine, newest first',
    query: Type.Object(paging({ max: 1000, usual: 100 })),
    result: Type.Array(Shown),
    handle: async ({ listed }, { scope, params: { job_id: id }, query }) => page(await listed(scope, id), query, shown),
  }),
  rows.get(`${PATH}/records`, {
    summary: 'Return the records of dead letters that were not sent again, one a line as the job wrote them',
    query: Type.Object({ id: Type.Optional({ ...Id, description: 'Only of this dead letter, sent again or not.' }) }),
    file: NDJSON,
    async handle({ letters, listed, slots }, { scope, params: { job_id: job }, query: { id } }) {
      const all = await listed(scope, job)
      const wanted = id === undefined ? all.filter(isWaiting).toReversed() : all.filter((one) => one.id === id)
      if (id !== undefined && wanted.length === 0) throw new ApiError('deadLetterNotFound')
      const free = slots.take()
      try {
        // Damage is an error here, because a response that has begun cannot report it.
        if (wanted.length > 0) for (const entry of wanted) await readable(async () => letters().check(entry))
      } catch (error) {
        free()
        throw error
      }
      const body = Readable.from(lines(wanted, letters), { objectMode: false })
      body.once('close', free)
      return new FileResponse(NDJSON, body)
    },
  }),
  rows.post(`${PATH}/replay`, {
    summary: 'Send dead letters to the destination of the job again, for up to 30 seconds; another call sends the rest',
    body: Type.Object(
      {
        ids: Type.Optional(
          Type.Array(Id, {
            minItems: 1,
            maxItems: MAX_REPLAYED,
            description: 'Default: all that were not sent again.',
          }),
        ),
      },
      strict,
    ),
    bodyOptional: true,
    result: Replayed,
    async handle({ logpush, repository, letters, listed, slots }, { scope, params: { job_id: job }, body }) {
      const plain = repository.plain(scope, repository.get(scope, job).value)
      const { destination_conf: destination } = plain
      if (destination === undefined) throw new InvalidInput([{ pointer: '/destination_conf', message: LOST_KEY }])
      const wanted = chosen(await listed(scope, job), body?.ids)
      const { destinations, limits } = logpush()
      const { format } = compileJob(plain, job, limits().filter)
      const isLines = [format.batchPrefix, format.batchSuffix, format.delimiter].every(({ length }) => length === 0)
      const free = slots.take(job)
      const sink = destinations.open(destination)
      const results: Static<typeof Replayed>['dead_letters'] = []
      try {
        if (sink.encoding === 'parquet')
          throw new ApiError('deadLetterUnreadable', undefined, 'Parquet destinations accept no lines of dead letters')
        const stop = AbortSignal.timeout(REPLAY_MS)
        const target = { sink, destination: destinations.redact(destination), isLines, stop }
        for (const entry of wanted) {
          const result = await readable(async () => await letters().replay(job, entry, target))
          results.push(result)
          if (result.error !== null || stop.aborted) break
        }
      } finally {
        await sink.close()
        free()
      }
      return { dead_letters: results, remaining: (await listed(scope, job)).filter(isWaiting).length }
    },
  }),
])

const isWaiting = ({ replayed_at: at }: DeadLetterEntry): boolean => at === null

const shown = ({ path, ...entry }: DeadLetterEntry): Static<typeof Shown> => ({ ...entry, is_local: path !== null })

/** Returns the dead letters with these ids, or the oldest that were not sent again. */
function chosen(all: readonly DeadLetterEntry[], ids: readonly string[] | undefined): readonly DeadLetterEntry[] {
  if (ids === undefined) return all.filter(isWaiting).toReversed().slice(0, MAX_REPLAYED)
  const byId = new Map(all.map((entry) => [entry.id, entry]))
  assertNoIssues(
    ids.flatMap((id, index) => {
      const entry = byId.get(id)
      const pointer = `/ids/${index}`
      if (!entry) return [{ pointer, message: 'is not a dead letter of this job' }]
      return isWaiting(entry) ? [] : [{ pointer, message: `was sent again at ${entry.replayed_at}` }]
    }),
  )
  return [...new Set(ids)].flatMap((id) => byId.get(id) ?? [])
}

async function* lines(wanted: readonly DeadLetterEntry[], letters: () => DeadLetters): AsyncGenerator<Uint8Array> {
  for (const entry of wanted) yield* letters().read(entry)
}

/** Converts the error of a file that cannot be read to an error of the API. */
async function readable<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof DeadLetterUnreadable)
      throw new ApiError('deadLetterUnreadable', undefined, { message: error.message, cause: error })
    throw error
  }
}

/** Calls in progress: few, and one of each job that sends. */
class Slots {
  #taken = 0
  readonly #jobs = new Set<string>()

  /** Returns a function that frees the slot. Throws `logpushBusy`. */
  take(job?: string): () => void {
    if (this.#taken >= MAX_CONCURRENT || (job !== undefined && this.#jobs.has(job)))
      throw new ApiError('logpushBusy', undefined, { headers: { 'retry-after': '5' } })
    this.#taken++
    if (job !== undefined) this.#jobs.add(job)
    return () => {
      this.#taken--
      if (job !== undefined) this.#jobs.delete(job)
    }
  }
}
