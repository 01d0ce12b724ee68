/** Records of a zone that were retained: by time and by ray id, as the hosted service returns them. */
import { Readable } from 'node:stream'
import { randomUUID } from 'node:crypto'
import { Type, type Static } from 'typebox'
import { compileJob, type CompiledJob } from '../../pipelines/logpush/settings/compiled-job.js'
import { recordsBetween, recordsWith } from '../../pipelines/logpush/history.js'
import { PULL_AGE_MS, PULLED } from '../../pipelines/logpush/retained.js'
import { DATASETS } from '../../pipelines/records/index.js'
import { InvalidInput } from '../../src/core/errors.js'
import { LOG_RETENTION } from '../../src/core/model/logpush-job.js'
import { strict } from '../../src/core/schema.js'
import type { Scope } from '../../src/core/scope.js'
import { ACCESS } from '../http/permissions.js'
import { area } from '../http/area.js'
import { FileResponse } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { audited, type Actor } from '../resources/audit.js'
import type { LogpushDeps } from './services.js'

const NDJSON = 'application/x-ndjson'
/** Requests that read the spool concurrently. */
const MAX_CONCURRENT = 8
const MAX_SPAN_MS = 60 * 60_000
/** Records of the last minutes are not complete yet. */
const MIN_AGE_MS = 60_000

const FORM = {
  fields: Type.Optional(
    Type.String({
      maxLength: 16_384,
      description: 'Names of fields with commas between them; nine usual ones unless given.',
    }),
  ),
  timestamps: Type.Optional(Type.Enum(['unix', 'unixnano', 'rfc3339'], { description: 'Default: unixnano.' })),
}

const ReceivedQuery = Type.Object(
  {
    ...FORM,
    start: Type.Optional(
      Type.String({
        maxLength: 40,
        description:
          'Inclusive: RFC 3339, or seconds or nanoseconds since 1970. At most seven days ago. Default: an hour before end.',
      }),
    ),
    end: Type.String({
      maxLength: 40,
      description: 'Exclusive: at least a minute ago, and at most an hour after start.',
    }),
    count: Type.Optional(Type.Integer({ minimum: 1, maximum: 2 ** 31, description: 'Maximum records.' })),
    sample: Type.Optional(
      Type.Number({ exclusiveMinimum: 0, maximum: 1, description: '0.1: a random 10% of the records.' }),
    ),
  },
  strict,
)
const RayQuery = Type.Object(FORM, strict)
const Flag = Type.Object({ flag: Type.Boolean({ description: 'Whether records of the zone are retained.' }) }, strict)

type DatasetSpool = Awaited<ReturnType<ReturnType<LogpushDeps['logpush']>['spools']['open']>>

/** The retained records of zones, and the flag that retains them. */
class RetainedRecords {
  readonly #deps: LogpushDeps
  #inProgress = 0

  constructor(deps: LogpushDeps) {
    this.#deps = deps
  }

  /** Returns whether records of a zone are retained. */
  isOn(scope: Scope): boolean {
    return this.#deps.store.get(LOG_RETENTION, scope, scope.id)?.value.flag === true
  }

  /** Sets the flag. Resolves when the records are retained, or deleted. */
  async set(call: Actor, after: Static<typeof Flag>): Promise<Static<typeof Flag>> {
    const { store, clock, logpush } = this.#deps
    const { scope } = call
    const before = store.get(LOG_RETENTION, scope, scope.id)
    const change = { kind: LOG_RETENTION, scope, id: scope.id, before: before?.value, after }
    await store.batch(...audited(clock, call, { ...change, ifVersion: before?.version }))
    await logpush().retentionSettled?.(scope)
    return after
  }

  /** Streams texts. The slot is free again after the client has read them or has disconnected. */
  async respond(scope: Scope, read: (spool: DatasetSpool) => AsyncIterable<Uint8Array>): Promise<FileResponse> {
    if (!this.isOn(scope)) throw new ApiError('logsNotRetained')
    if (this.#inProgress >= MAX_CONCURRENT)
      throw new ApiError('logpushBusy', undefined, { headers: { 'retry-after': '1' } })
    const spool = await this.#deps.logpush().spools.open(PULLED, scope)
    this.#inProgress++
    const body = Readable.from(read(spool), { objectMode: false })
    body.once('close', () => this.#inProgress--)
    return new FileResponse(NDJSON, body)
  }
}

/** Returns the 16 digits of a ray id. Throws InvalidInput if it is not one. */
function rayId(text: string): string {
  if (!/^[0-9a-f]{16}(-[A-Z]{3})?$/i.test(text))
    throw new InvalidInput([{ pointer: '/ray_id', message: 'must be 16 digits of 0-9 and a-f' }])
  return text.slice(0, 16).toLowerCase()
}

const rows = area({ scopes: ['zone'], access: ACCESS.logpush }, (deps: LogpushDeps) => {
  const { clock } = deps
  const retained = new RetainedRecords(deps)
  return { clock, retained }
})

/** Endpoints of retained records, and of the flag that retains them. */
export const pull = rows.endpoints([
  rows.get('/logs/received', {
    summary: 'Return the retained http_requests of a time, one JSON object a line',
    query: ReceivedQuery,
    refusal: 'badLogpush',
    file: NDJSON,
    async handle({ clock, retained }, { scope, query }) {
      const range = rangeOf(query, clock.now())
      const job = compiled(query, query.sample)
      return await retained.respond(scope, (spool) =>
        recordsBetween(spool, job, { ...range, count: query.count ?? Infinity }),
      )
    },
  }),
  rows.get('/logs/received/fields', {
    summary: 'List the fields of retained records with their types',
    file: 'application/json',
    handle: () => new FileResponse('application/json', JSON.stringify(DATASETS.get(PULLED)?.fields ?? {})),
  }),
  rows.get('/logs/rayids/:ray_id', {
    summary: 'Return the retained http_requests with a ray id, one JSON object a line',
    query: RayQuery,
    refusal: 'badLogpush',
    file: NDJSON,
    async handle({ retained }, { scope, query, params }) {
      const value = rayId(params.ray_id)
      const job = compiled(query)
      return await retained.respond(scope, (spool) => recordsWith(spool, job, { field: 'RayID', value }))
    },
  }),
  rows.get('/logs/control/retention/flag', {
    summary: 'Return whether records of the zone are retained',
    result: Flag,
    handle: ({ retained }, { scope }) => ({ flag: retained.isOn(scope) }),
  }),
  rows.post('/logs/control/retention/flag', {
    summary: 'Retain the http_requests of the zone for seven days, or delete the retained ones',
    body: Flag,
    result: Flag,
    handle: async ({ retained }, call) => await retained.set(call, call.body),
  }),
])

function compiled(
  { fields, timestamps = 'unixnano' }: { readonly fields?: string; readonly timestamps?: string },
  sample = 1,
): CompiledJob {
  const names = fields?.split(',').map((name) => name.trim()) ?? DATASETS.get(PULLED)!.defaults
  const unknown = names.filter((name) => !DATASETS.get(PULLED)?.places.has(name))
  if (unknown.length > 0)
    throw new InvalidInput([
      { pointer: '/fields', message: `unknown field ${JSON.stringify(unknown[0]?.slice(0, 100))}` },
    ])
  const options = { field_names: names, timestamp_format: timestamps, sample_rate: sample }
  return compileJob({ dataset: PULLED, output_options: options }, randomUUID())
}

const reject = (pointer: string, message: string): never => {
  throw new InvalidInput([{ pointer, message }])
}

function rangeOf({ start, end }: { readonly start?: string; readonly end: string }, now: number) {
  const to = timeOf('/end', end)
  const from = start === undefined ? to - MAX_SPAN_MS : timeOf('/start', start)
  if (to > now - MIN_AGE_MS) reject('/end', 'must be at least one minute ago')
  if (from >= to) reject('/start', 'must be before end')
  if (to - from > MAX_SPAN_MS) reject('/start', 'must be at most one hour before end')
  if (from < now - PULL_AGE_MS - MAX_SPAN_MS) reject('/start', 'must be at most seven days ago')
  return { from, to }
}

/** Milliseconds of seconds or nanoseconds since 1970, or of a time in RFC 3339. */
function timeOf(pointer: string, text: string): number {
  if (/^\d{1,11}(\.\d+)?$/.test(text)) return Number(text) * 1000
  if (/^\d{12,20}$/.test(text)) return Number(BigInt(text) / 1_000_000n)
  const ms = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : NaN
  if (Number.isNaN(ms))
    throw new InvalidInput([{ pointer, message: 'must be a time: RFC 3339, or seconds or nanoseconds since 1970' }])
  return ms
}
