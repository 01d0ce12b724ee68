import { Type } from 'typebox'
import { strict } from '../src/core/schema.js'
import { SinkError } from '../src/core/sink.js'
import { HttpClient, type Response } from './http/client.js'
import { isObject } from './http/lines-sink.js'
import { linewise, type Lines, type Verdict } from './http/linewise.js'
import { AccessTokens } from './http/access-tokens.js'
import { accountGrant, serviceAccount, type ServiceAccount } from './http/service-account.js'
import { ENDPOINT, endpointOf } from './objects/bucket.js'
import { paramReader, reject, secret } from './contract/params.js'
import { TEST_TEXT, type SinkDeps, type SinkType } from './contract/sink-type.js'

const PARAMS = Type.Object(
  { credentials: secret('JSON key of a service account, as base64:.. or url:..'), endpoint: ENDPOINT },
  strict,
)
const read = paramReader(PARAMS)
const SCOPE = 'https://www.googleapis.com/auth/bigquery.insertdata'
/** Reasons of a 403 that pass by themselves. */
const BUSY: ReadonlySet<string> = new Set(['rateLimitExceeded', 'quotaExceeded', 'backendError'])

/**
 * Rows of a BigQuery table. Each line is a row whose insert id comes from the name of its batch, so that a batch that is
 * sent again soon creates no duplicates. Rows that do not fit the table are rejected one by one.
 */
export const bq: SinkType = {
  scheme: 'bq',
  form: 'bq://projects/P/datasets/D/tables/T',
  summary: 'rows of a table, one per line',
  params: PARAMS,

  check(destination, deps) {
    placeOf(destination, deps)
  },

  open(destination, deps) {
    const { url, account } = placeOf(destination, deps)
    const client = new HttpClient(deps)
    const tokens = new AccessTokens(accountGrant(account, SCOPE, deps.clock), client, deps.clock)

    const insert = async ({ name, lines, numbers }: Lines, signal: AbortSignal): Promise<Verdict | undefined> => {
      const wrong = lines.findIndex((line) => !isObject(line))
      if (wrong >= 0)
        throw new SinkError('refused', `line ${numbers[wrong]! + 1} is not a JSON object; BigQuery needs one per row`)
      const rows = lines.map((line, at) => `{"insertId":"${name}-${numbers[at]}","json":${line}}`)
      const body = Buffer.from(
        `{"kind":"bigquery#tableDataInsertAllRequest","skipInvalidRows":true,"rows":[${rows.join(',')}]}`,
      )
      const headers = { authorization: `Bearer ${await tokens.current(signal)}`, 'content-type': 'application/json' }
      const response = await client.request({ url, headers, body, maxResponse: MAX_RESPONSE_BYTES }, signal)
      if (response.status === 401) tokens.forget()
      if (response.status < 200 || response.status > 299) throw refusal(response)
      const issues = response.complete ? rowErrors(response.text, lines.length) : undefined
      if (issues === undefined)
        throw new SinkError('transient', `${url.host} sent a response that is not one of BigQuery`)
      return judged(issues, url.host, lines.length)
    }

    const refusal = (response: Response): SinkError => {
      const failure = client.failure(url, response)
      const { retryAfterMs } = failure
      const busy = response.status === 403 && BUSY.has(reasonOf(response.text))
      return busy
        ? new SinkError('transient', failure.message, retryAfterMs === undefined ? {} : { retryAfterMs })
        : failure
    }

    return {
      encoding: 'identity',
      // 10 MB and 50,000 rows per request, including the text around the rows.
      limits: { bytes: 6_000_000, records: 40_000 },
      daily: false,

      write: linewise(insert),

      // A table that accepts rows and has no column `content` reports that, and nothing is written to it.
      async check(signal) {
        const from = new Date(deps.clock.now())
        await insert({ name: 'edged-test', from, lines: [TEST_TEXT], numbers: [0] }, signal)
      },

      close: async () => client.close(),
    }
  },
}

const MAX_RESPONSE_BYTES = 4_000_000

function placeOf(destination: URL, deps: SinkDeps): { url: URL; account: ServiceAccount } {
  const table = /^\/([a-z0-9][a-z0-9.:-]*)\/datasets\/(\w+)\/tables\/([\w$-]+)\/?$/i.exec(destination.pathname)
  if (destination.host !== 'projects' || table === null) reject('must be bq://projects/P/datasets/D/tables/T')
  const given = read(destination)
  const origin = given.endpoint === undefined ? 'https://bigquery.googleapis.com' : endpointOf(given.endpoint, deps)
  const [, project, dataset, name] = table
  const url = new URL(`${origin}/bigquery/v2/projects/${project}/datasets/${dataset}/tables/${name}/insertAll`)
  return { url, account: serviceAccount(given.credentials) }
}

interface RowError {
  readonly at: number
  readonly reason: string
}

/** Returns the rejected rows with the reasons. Undefined if the text is not a response of the API to this number of rows. */
function rowErrors(text: string, rows: number): readonly RowError[] | undefined {
  const response = parsed(text)
  if (response === undefined) return undefined
  const { insertErrors } = record(response)
  if (!Array.isArray(insertErrors)) return []
  const issues = insertErrors.map((row) => {
    const { index, errors } = record(row)
    return { at: Number(index), reason: word(record(Array.isArray(errors) ? errors[0] : undefined)['reason']) }
  })
  // Each row counts once. Otherwise a batch could seem to have more rows than it has.
  const places = new Set(issues.map(({ at }) => at))
  const sound = issues.every(({ at }) => Number.isInteger(at) && at >= 0 && at < rows)
  return sound && places.size === issues.length ? issues : undefined
}

/** `invalid` means that the row itself has an error. All other reasons are temporary. */
function judged(issues: readonly RowError[], host: string, rows: number): Verdict | undefined {
  const refused = issues.filter(({ reason }) => reason === 'invalid')
  const passing = issues.filter(({ reason }) => reason !== 'invalid')
  const [first] = [...passing, ...refused]
  if (first === undefined) return undefined
  return {
    message: `${host} rejected ${issues.length} of ${rows} rows: ${first.reason}`,
    again: passing.map(({ at }) => at),
    failure: 'transient',
    refused: refused.map(({ at }) => at),
  }
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
