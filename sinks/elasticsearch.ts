import { SinkError } from '../src/core/sink.js'
import type { Answer } from './http/client.js'
import { isObject, linesSinkType } from './http/lines-sink.js'
import { refuse } from './params.js'

/** What is asked back of a bulk request: enough to know what became of each record. */
const FILTER_PATH = 'errors,items.create.status,items.create.error.type'

/**
 * `elasticsearch://[user:password@]host:9200/index[?pipeline=P&header_Authorization=ApiKey%20KEY]`: the bulk API of
 * Elasticsearch and what speaks like it. Each line is a document whose id comes from the name of its batch, so a batch that
 * comes again makes none twice. `tls=false` and `insecure-skip-verify=true` where the operator allows that.
 */
export const elasticsearch = linesSinkType({
  scheme: 'elasticsearch',
  limits: { bytes: 8_000_000, records: 10_000 },
  own: ['tls', 'insecure-skip-verify'],
  // One line for each record, also where all have failed.
  mostAnswer: 4_000_000,

  prepare(target) {
    const url = new URL(target.url)
    const path = url.pathname.replace(/\/+$/, '')
    if (path === '') refuse('needs an index as its path')
    url.pathname = `${path}/_bulk`
    url.search += `${url.search === '' ? '' : '&'}filter_path=${FILTER_PATH}`
    return { ...target, url }
  },

  message({ name, lines }) {
    const documents = lines.map((line, index) => {
      // Data streams take nothing but `create`, and a document that is there already answers 409.
      const action = JSON.stringify({ create: { _id: `${name}-${index}` } })
      return `${action}\n${isObject(line) ? line : JSON.stringify({ message: line })}\n`
    })
    return { text: documents.join(''), type: 'application/x-ndjson' }
  },

  judge: ({ text, complete }, { url }) => judged(bulkAnswer(text, complete), url.host),
  test: (now) => JSON.stringify({ '@timestamp': now.toISOString(), content: 'tests' }),
})

interface BulkAnswer {
  readonly errors?: boolean
  readonly items?: readonly {
    readonly create?: { readonly status?: number; readonly error?: { readonly type?: string } }
  }[]
}

function bulkAnswer(text: Answer['text'], complete: boolean): BulkAnswer | undefined {
  if (!complete) return undefined
  try {
    const answer = JSON.parse(text) as BulkAnswer | null
    return typeof answer?.errors === 'boolean' ? answer : undefined
  } catch {
    return undefined
  }
}

function judged(answer: BulkAnswer | undefined, host: string): SinkError | undefined {
  if (answer === undefined) return new SinkError('transient', `${host} answered what is no answer of the bulk API`)
  if (answer.errors === false) return undefined
  const items = (answer.items ?? []).map(({ create }) => create ?? {})
  const failed = items.filter(({ status = 500 }) => status >= 300 && status !== 409)
  const [first] = failed
  if (first === undefined) return undefined
  const later = failed.filter(({ status = 500 }) => status === 429 || status >= 500)
  const type = (later[0] ?? first).error?.type ?? ''
  const why = /^[a-z_]{1,64}$/.test(type) ? `: ${type}` : ''
  const message = `${host} did not take ${failed.length} of ${items.length} records${why}`
  return new SinkError(later.length > 0 ? 'transient' : 'refused', message)
}
