import { Type } from 'typebox'
import { SinkError } from '../src/core/sink.js'
import { failureOf } from './contract/failure.js'
import type { Response } from './http/client.js'
import { isObject, linesSinkType } from './http/lines-sink.js'
import type { Verdict } from './http/linewise.js'
import { objectOf, recordTime } from './http/record-time.js'
import { TLS } from './http/target.js'
import { reject, text } from './contract/params.js'

/** Response fields requested for a bulk request. They are enough to know the outcome of each record. */
const FILTER_PATH = 'errors,items.create.status,items.create.error.type'

/**
 * The bulk API of Elasticsearch and compatible servers. Each line is a document whose id comes from the name of its batch,
 * so that a batch that is sent again creates no duplicates. If some are rejected, only those that may be accepted later
 * are sent again.
 */
export const elasticsearch = linesSinkType({
  scheme: 'elasticsearch',
  form: 'elasticsearch://[user:password@]host:9200/index',
  summary: 'documents of an index or data stream, one per line, without duplicates',
  sent: Type.Object({ pipeline: Type.Optional(text('Ingest pipeline of the documents.')) }),
  limits: { bytes: 8_000_000, records: 10_000 },
  own: Type.Object({
    time: Type.Optional(
      text(
        'Field whose time becomes the @timestamp of documents without one, which data streams need. Default: for indexes ' +
          'called logs-, metrics-, traces- or synthetics-DATASET-NAMESPACE the first usual field with a time, else none.',
      ),
    ),
    ...TLS,
  }),
  // One line for each record, also where all have failed.
  maxResponse: 4_000_000,

  prepare(target) {
    const url = new URL(target.url)
    const path = url.pathname.replace(/\/+$/, '')
    if (path === '') reject('needs an index as its path')
    url.pathname = `${path}/_bulk`
    url.search += `${url.search === '' ? '' : '&'}filter_path=${FILTER_PATH}`
    const { time } = target.own
    return { ...target, url, time, isTimed: time !== undefined || DATA_STREAM.test(path) }
  },

  message({ name, from, lines, numbers }, { time, isTimed }) {
    const documents = lines.map((text, index) => {
      const line = isTimed ? timed(text, from, time) : text
      // Data streams accept only `create`, and return 409 for a document that exists already.
      const action = JSON.stringify({ create: { _id: `${name}-${numbers[index]}` } })
      return `${action}\n${isObject(line) ? line : JSON.stringify({ message: line })}\n`
    })
    return { text: documents.join(''), type: 'application/x-ndjson' }
  },

  judge: ({ text, complete }, { url }, lines) => judged(bulkResponse(text, complete), url.host, lines),
  test: (now) => JSON.stringify({ '@timestamp': now.toISOString(), content: 'tests' }),
})

/** Naming scheme of data streams, which is type, dataset and namespace. */
const DATA_STREAM = /\/(logs|metrics|traces|synthetics)-[^-/]+-[^/]+$/

/** Adds the time to a document without one. The rest of the text is unchanged. */
function timed(line: string, from: Date, field: string | undefined): string {
  const record = objectOf(line)
  if (record === undefined)
    return line.startsWith('{') ? line : JSON.stringify({ '@timestamp': from.toISOString(), message: line })
  if (Object.hasOwn(record, '@timestamp')) return line
  const ns = recordTime(line, record, field) ?? BigInt(from.getTime()) * 1_000_000n
  const seconds = new Date(Number(ns / 1_000_000n)).toISOString().slice(0, 19)
  const member = `"@timestamp":"${seconds}.${String(ns % 1_000_000_000n).padStart(9, '0')}Z"`
  return `{${member}${Object.keys(record).length === 0 ? '' : ','}${line.slice(1)}`
}

interface BulkResponse {
  readonly errors?: boolean
  readonly items?: readonly {
    readonly create?: { readonly status?: number; readonly error?: { readonly type?: string } }
  }[]
}

function bulkResponse(text: Response['text'], complete: boolean): BulkResponse | undefined {
  if (!complete) return undefined
  try {
    const response = JSON.parse(text) as BulkResponse | null
    return typeof response?.errors === 'boolean' ? response : undefined
  } catch {
    return undefined
  }
}

/**
 * Status of a record whose own content is invalid. Other statuses are about the index, the credentials or a temporary
 * state.
 */
const UNFIT = 400

function judged(response: BulkResponse | undefined, host: string, lines: number): Verdict | undefined {
  if (response?.errors === false) return undefined
  if (response?.items?.length !== lines)
    throw new SinkError('transient', `${host} sent a response that is not one of the bulk API`)
  const failed = response.items.flatMap(({ create }, at) => {
    const status = create?.status ?? 500
    return status >= 300 && status !== 409 ? [{ at, status, type: create?.error?.type ?? '' }] : []
  })
  const again = failed.filter(({ status }) => status !== UNFIT)
  const passing = again.filter(({ status }) => failureOf(status) === 'transient')
  const [first] = [...passing, ...again, ...failed]
  if (first === undefined) return undefined
  const why = /^[a-z_]{1,64}$/.test(first.type) ? `: ${first.type}` : ''
  return {
    message: `${host} rejected ${failed.length} of ${lines} records${why}`,
    again: again.map(({ at }) => at),
    failure: passing.length > 0 ? 'transient' : 'refused',
    refused: failed.filter(({ status }) => status === UNFIT).map(({ at }) => at),
  }
}
