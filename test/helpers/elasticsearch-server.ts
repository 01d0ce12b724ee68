import type { Received, ReceiverResponse } from './http-receiver.js'

interface Item {
  readonly create: {
    readonly _index: string
    readonly _id: string
    readonly status: number
    readonly error?: { readonly type: string; readonly reason: string }
  }
}

/** `strict_date_optional_time`, which also takes nanoseconds. */
const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d([.,]\d{1,9})?)?(Z|[+-]\d\d(:?\d\d)?)?)?$/

/**
 * The bulk endpoint of a data stream of Elasticsearch by its documented protocol: takes `create` actions alone and documents
 * with a `@timestamp`, each id once. `reject` gives the error of other documents.
 */
export function dataStream(
  name: string,
  reject: (document: Record<string, unknown>) => [number, string] | undefined = () => undefined,
) {
  const documents = new Map<string, Record<string, unknown>>()

  const create = (action: Record<string, unknown>, source: string): Item => {
    const [[kind, meta] = []] = Object.entries(action) as [string, { _id?: string; _index?: string }][]
    const { _id: id = `${documents.size}`, _index: index = name } = meta ?? {}
    const item = (status: number, type?: string, reason = ''): Item => ({
      create: {
        _index: `.ds-${index}-000001`,
        _id: id,
        status,
        ...(type !== undefined && { error: { type, reason } }),
      },
    })
    if (kind !== 'create')
      return item(
        400,
        'illegal_argument_exception',
        'only write ops with an op_type of create are allowed in data streams',
      )
    const document = JSON.parse(source) as Record<string, unknown>
    const time = document['@timestamp']
    const isTime = typeof time === 'number' || (typeof time === 'string' && TIME.test(time))
    if (!isTime) return item(400, 'document_parsing_exception', 'data stream timestamp field [@timestamp] is missing')
    const [status, type] = reject(document) ?? []
    if (status !== undefined) return item(status, type)
    if (documents.has(id)) return item(409, 'version_conflict_engine_exception')
    documents.set(id, document)
    return item(201)
  }

  return {
    documents,
    response({ target, headers, text }: Received): ReceiverResponse {
      const url = new URL(target, 'http://elasticsearch.test')
      if (url.pathname !== `/${name}/_bulk`)
        return { status: 404, body: '{"error":{"type":"index_not_found_exception"}}' }
      if (!/^application\/(x-ndjson|json)$/.test(headers['content-type'] ?? '')) return { status: 406 }
      const lines = text.split('\n')
      if (lines.pop() !== '' || lines.length === 0 || lines.length % 2 === 1)
        return {
          status: 400,
          body: '{"error":{"type":"illegal_argument_exception","reason":"The bulk request must be terminated by a newline [\\\\n]"}}',
        }
      const items: Item[] = []
      for (let at = 0; at < lines.length; at += 2)
        items.push(create(JSON.parse(lines[at]!) as Record<string, unknown>, lines[at + 1]!))
      const errors = items.some(({ create: { status } }) => status > 299)
      const shown = items.map(({ create: { status, error } }) => ({
        create: { status, ...(error && { error: { type: error.type } }) },
      }))
      const isFiltered = url.searchParams.get('filter_path') === 'errors,items.create.status,items.create.error.type'
      return {
        status: 200,
        body: JSON.stringify({ ...(!isFiltered && { took: 1 }), errors, items: isFiltered ? shown : items }),
      }
    },
  }
}
