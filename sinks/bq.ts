import { SinkError } from '../src/core/sink.js'
import { HttpClient, type Answer } from './http/client.js'
import { isObject, linesOf } from './http/lines-sink.js'
import { AccessTokens, serviceAccount, type ServiceAccount } from './http/service-account.js'
import { endpointOf } from './objects/bucket.js'
import { params, refuse } from './params.js'
import type { SinkDeps, SinkType } from './sink-type.js'
import { TEST_TEXT } from './test-text.js'

const KNOWN = ['credentials', 'endpoint'] as const
const SCOPE = 'https://www.googleapis.com/auth/bigquery.insertdata'
/** Reasons of a 403 that pass by themselves. */
const BUSY: ReadonlySet<string> = new Set(['rateLimitExceeded', 'quotaExceeded', 'backendError'])

/**
 * `bq://projects/P/datasets/D/tables/T?credentials=base64:..`: rows of a BigQuery table. Each line is a row whose insert id
 * comes from the name of its batch, so a batch that comes again soon makes none twice. A batch is taken as a whole or not at
 * all. The credentials are the JSON key of a service account; `endpoint=HOST` is a server that speaks like BigQuery.
 */
export const bq: SinkType = {
  scheme: 'bq',
  secrets: ['credentials'],

  check(destination, deps) {
    placeOf(destination, deps)
  },

  open(destination, deps) {
    const { url, account } = placeOf(destination, deps)
    const client = new HttpClient(deps)
    const tokens = new AccessTokens(account, SCOPE, client, deps.clock)

    const insert = async (
      name: string,
      lines: readonly string[],
      signal: AbortSignal,
    ): Promise<readonly RowFault[]> => {
      const rows = lines.map((line, index) => `{"insertId":"${name}-${index}","json":${line}}`)
      const body = Buffer.from(`{"kind":"bigquery#tableDataInsertAllRequest","rows":[${rows.join(',')}]}`)
      const headers = { authorization: `Bearer ${await tokens.current(signal)}`, 'content-type': 'application/json' }
      const answer = await client.request({ url, headers, body, mostAnswer: MOST_ANSWER }, signal)
      if (answer.status === 401) tokens.forget()
      if (answer.status < 200 || answer.status > 299) throw refusal(answer)
      const faults = answer.complete ? rowFaults(answer.text) : undefined
      if (faults === undefined) throw new SinkError('transient', `${url.host} answered what is no answer of BigQuery`)
      return faults
    }

    const refusal = (answer: Answer): SinkError => {
      const failure = client.failure(url, answer)
      const { retryAfterMs } = failure
      const busy = answer.status === 403 && BUSY.has(reasonOf(answer.text))
      return busy
        ? new SinkError('transient', failure.message, retryAfterMs === undefined ? {} : { retryAfterMs })
        : failure
    }

    return {
      encoding: 'identity',
      // 10 MB and 50,000 rows for one request, what stands around the rows included.
      limits: { bytes: 6_000_000, records: 40_000 },
      daily: false,

      async write({ name, body }, signal) {
        const lines = linesOf(Buffer.from(await body.bytes()).toString('utf8'))
        const wrong = lines.findIndex((line) => !isObject(line))
        if (wrong >= 0)
          throw new SinkError('refused', `line ${wrong + 1} is no JSON object, as BigQuery wants rows to be`)
        const faults = await insert(name, lines, signal)
        const [fault] = faults
        if (fault === undefined) return
        const message = `${url.host} did not take ${faults.length} of ${lines.length} rows: ${fault.reason}`
        throw new SinkError(fault.reason === 'invalid' ? 'refused' : 'transient', message)
      },

      // A table that takes rows and has no column `content` says so, and has nothing written to it.
      check: async (signal) => void (await insert('edged-test', [TEST_TEXT], signal)),

      close: async () => client.close(),
    }
  },
}

const MOST_ANSWER = 4_000_000

function placeOf(destination: URL, deps: SinkDeps): { url: URL; account: ServiceAccount } {
  const given = params(destination, KNOWN)
  const table = /^\/([a-z0-9][a-z0-9.:-]*)\/datasets\/(\w+)\/tables\/([\w$-]+)\/?$/i.exec(destination.pathname)
  if (destination.host !== 'projects' || table === null) refuse('must be bq://projects/P/datasets/D/tables/T')
  if (given.credentials === undefined) refuse('needs credentials')
  const origin = given.endpoint === undefined ? 'https://bigquery.googleapis.com' : endpointOf(given.endpoint, deps)
  const [, project, dataset, name] = table
  const url = new URL(`${origin}/bigquery/v2/projects/${project}/datasets/${dataset}/tables/${name}/insertAll`)
  return { url, account: serviceAccount(given.credentials) }
}

interface RowFault {
  readonly reason: string
}

/**
 * Why rows were not taken, the causes first: `stopped` is said of rows that were fine beside others that were not. Undefined:
 * the text is no answer of the API.
 */
function rowFaults(text: string): readonly RowFault[] | undefined {
  const answer = parsed(text)
  if (answer === undefined) return undefined
  const { insertErrors: rows } = record(answer)
  if (!Array.isArray(rows)) return []
  const faults = rows.map((row) => {
    const { errors } = record(row)
    return { reason: word(record(Array.isArray(errors) ? errors[0] : undefined)['reason']) }
  })
  return [
    ...faults.filter(({ reason }) => reason !== 'stopped'),
    ...faults.filter(({ reason }) => reason === 'stopped'),
  ]
}

/** The reason in the error of the API. */
function reasonOf(text: string): string {
  const { errors } = record(record(parsed(text))['error'])
  return word(record(Array.isArray(errors) ? errors[0] : undefined)['reason'])
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

const record = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

const word = (value: unknown): string =>
  typeof value === 'string' && /^[A-Za-z]{1,64}$/.test(value) ? value : 'no reason given'
