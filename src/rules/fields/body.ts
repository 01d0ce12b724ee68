import type { Budget, Bytes, Getter } from '../../expr/index.js'
import { mimeOf } from './mime.js'
import type { Part } from './multipart.js'
import type { FieldSource } from './source.js'

const parts =
  (read: (part: Part) => Bytes | readonly Bytes[]): Getter<FieldSource> =>
  (source, budget) =>
    source.multipart(budget)?.map(read)

/** Fields of the body. Missing if the body was not read, and empty if it is of another type. */
export const BODY_GETTERS: Readonly<Record<string, Getter<FieldSource>>> = {
  'http.request.body.truncated': ({ exchange }) => exchange.body?.truncated,
  'http.request.body.mime': ({ body }) => body && mimeOf(body.bytes),
  'http.request.body.multipart': byName,
  'http.request.body.multipart.names': parts(({ names }) => names),
  'http.request.body.multipart.values': parts(({ value }) => value),
  'http.request.body.multipart.content_types': parts(({ types }) => types),
  'http.request.body.multipart.content_dispositions': parts(({ dispositions }) => dispositions),
  'http.request.body.multipart.content_transfer_encodings': parts(({ encodings }) => encodings),
  'http.request.body.multipart.filenames': parts(({ filenames }) => filenames),
}

function byName(source: FieldSource, budget: Budget): ReadonlyMap<Bytes, readonly Bytes[]> | undefined {
  const multipart = source.multipart(budget)
  if (multipart === undefined) return undefined
  const map = new Map<Bytes, Bytes[]>()
  for (const { names, value } of multipart) {
    for (const name of names) {
      const values = map.get(name)
      if (values === undefined) map.set(name, [value])
      else values.push(value)
    }
  }
  return map
}
