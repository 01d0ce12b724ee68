import type { StoredObject } from '../../../core/model/objects.js'
import { DIGESTS, type Digest } from '../../storage/object-bytes.js'
import { byteRange, meets, wantedRange, type EtagTest, type ObjectCondition } from '../../storage/object-conditions.js'
import { ObjectError } from '../../storage/object-error.js'
import type { NamedPart, ObjectUploads } from '../../storage/object-uploads.js'
import type { ObjectFields, ObjectPlace, Objects } from '../../storage/objects.js'
import { ResourceError, type ResourceCall, type ResourceHandler, type ResourceResponse } from '../resource-server.js'

const MAX_REQUEST_BYTES = 2 * 2 ** 20
const MAX_LIST = 1000
const MAX_DELETE = 1000
const HTTP_FIELDS = [
  'contentType',
  'contentLanguage',
  'contentDisposition',
  'contentEncoding',
  'cacheControl',
  'cacheExpiry',
] as const
/** Numbers of fields in `include` of a list. */
const INCLUDES = { http: 0, custom: 1 } as const

/** A request as the runtime sends it. Numbers and times come as numbers or as text. */
interface R2Request {
  readonly method?: string
  readonly object?: string
  readonly objects?: readonly string[]
  readonly range?: Readonly<Partial<Record<'offset' | 'length' | 'suffix', number | string>>>
  readonly rangeHeader?: string
  readonly onlyIf?: Readonly<Record<string, unknown>>
  readonly customFields?: readonly { readonly k: string; readonly v: string }[]
  readonly httpFields?: Readonly<Record<string, string | number>>
  readonly storageClass?: string
  readonly limit?: number
  readonly prefix?: string
  readonly cursor?: string
  readonly delimiter?: string
  readonly startAfter?: string
  readonly include?: readonly number[]
  readonly newRuntime?: boolean
  readonly uploadId?: string
  readonly partNumber?: number | string
  readonly parts?: readonly Partial<Record<keyof NamedPart, number | string>>[]
  readonly md5?: string
  readonly sha1?: string
  readonly sha256?: string
  readonly sha384?: string
  readonly sha512?: string
}

type Body = AsyncIterable<Uint8Array>
type Method = (place: ObjectPlace, request: R2Request, body: Body) => Promise<ResourceResponse> | ResourceResponse

/** Buckets as the runtime reads and writes them. */
export function r2Resource(objects: Objects, uploads: ObjectUploads): ResourceHandler {
  const found = (place: ObjectPlace): StoredObject => {
    const object = objects.find(place)
    if (!object) throw new ObjectError('noObject', 'the object does not exist')
    return object
  }

  const methods: Readonly<Record<string, Method>> = {
    head: (place) => reply(shown(place.key, found(place))),
    get(place, request) {
      const object = found(place)
      const condition = conditionOf(request)
      const metadata = shown(place.key, object)
      if (condition && !meets(condition, object))
        return failure(new ObjectError('precondition', 'the condition is not met'), metadata)
      const asked = request.rangeHeader === undefined ? rangeOf(request) : wantedRange(request.rangeHeader)
      const range = asked && byteRange(asked, object.size)
      if (asked && !range) throw new ObjectError('badRange', 'the object has no bytes in this range')
      const part = range ?? { offset: 0, length: object.size }
      return reply({ ...metadata, range: part }, { bytes: objects.read(object, part), size: part.length })
    },
    list({ scope, bucket }, request) {
      const { limit = MAX_LIST, prefix, delimiter, cursor, startAfter, include = [] } = request
      if (!(limit >= 1 && limit <= MAX_LIST)) throw new ObjectError('badLimit', `limit is 1 to ${MAX_LIST}`)
      const after = cursor === undefined ? startAfter : Buffer.from(cursor, 'base64url').toString('utf8')
      const listed = objects.list(scope, bucket, { prefix, delimiter, after, limit })
      return reply({
        objects: listed.objects.map(([key, object]) => {
          const { httpFields, customFields, ...all } = shown(key, object)
          return {
            ...all,
            ...(include.includes(INCLUDES.http) && { httpFields }),
            ...(include.includes(INCLUDES.custom) && { customFields }),
          }
        }),
        truncated: listed.next !== undefined,
        ...(listed.next !== undefined && { cursor: Buffer.from(listed.next).toString('base64url') }),
        delimitedPrefixes: listed.prefixes,
      })
    },
    async put(place, request, body) {
      const digests = digestsOf(request)
      const object = await objects.put(place, body, { ...fieldsOf(request), condition: conditionOf(request), digests })
      return reply(shown(place.key, object))
    },
    async delete({ scope, bucket, key }, { objects: keys = [key] }) {
      if (keys.length > MAX_DELETE) throw new ObjectError('badArgument', `at most ${MAX_DELETE} keys`)
      await objects.remove(scope, bucket, keys)
      return reply({})
    },
    createMultipartUpload: async (place, request) =>
      reply({ uploadId: await uploads.create(place, fieldsOf(request)) }),
    uploadPart: async (place, { uploadId = '', partNumber = 0 }, body) =>
      reply({ etag: await uploads.put(place, uploadId, Number(partNumber), body) }),
    async completeMultipartUpload(place, { uploadId = '', parts = [] }) {
      const named = parts.map(({ part, etag }) => ({ part: Number(part), etag: String(etag) }))
      return reply(shown(place.key, await uploads.complete(place, uploadId, named)))
    },
    async abortMultipartUpload(place, { uploadId = '' }) {
      await uploads.abort(place, uploadId)
      return reply({})
    },
  }

  return async (call) => {
    const { request, body } = await read(call)
    const method = methods[String(request.method)]
    if (!method) throw new ResourceError(400, 'unknown operation')
    try {
      return await method({ scope: call.scope, bucket: call.id, key: request.object ?? '' }, request, body)
    } catch (error) {
      if (error instanceof ObjectError) return failure(error)
      throw error
    }
  }
}

/** Reads the JSON of a request, from a header or from the beginning of the body. */
async function read({ method, headers, stream }: ResourceCall): Promise<{ request: R2Request; body: Body }> {
  if (method === 'GET') {
    const field = String(headers['cf-r2-request'] ?? '')
    return { request: parsed(Buffer.from(field, 'latin1')), body: stream }
  }
  const size = Number(headers['cf-r2-metadata-size'])
  if (!(size > 0 && size <= MAX_REQUEST_BYTES)) throw new ResourceError(400, 'bad size of the metadata')
  const pieces = stream[Symbol.asyncIterator]()
  let head: Buffer = Buffer.alloc(0)
  while (head.length < size) {
    const { value, done } = await pieces.next()
    if (done === true) throw new ResourceError(400, 'the metadata is incomplete')
    head = Buffer.concat([head, value])
  }
  const rest = async function* (): AsyncGenerator<Buffer> {
    if (head.length > size) yield head.subarray(size)
    yield* { [Symbol.asyncIterator]: () => pieces }
  }
  return { request: parsed(head.subarray(0, size)), body: rest() }
}

function parsed(bytes: Buffer): R2Request {
  try {
    return JSON.parse(bytes.toString('utf8')) as R2Request
  } catch {
    throw new ResourceError(400, 'not valid JSON')
  }
}

function reply(
  metadata: object,
  bytes?: { readonly bytes: AsyncIterable<Uint8Array>; readonly size: number },
): ResourceResponse {
  const json = Buffer.from(JSON.stringify(metadata))
  const headers = { 'cf-r2-metadata-size': String(json.length), 'content-type': 'application/json' }
  if (!bytes) return { status: 200, headers, body: json }
  const body = async function* (): AsyncGenerator<Uint8Array> {
    yield json
    yield* bytes.bytes
  }
  return { status: 200, headers, body: { bytes: body(), size: json.length + bytes.size } }
}

/** Returns the response to a failed operation. `metadata` belongs to the object that does not meet the condition. */
function failure({ message, status, code }: ObjectError, metadata?: object): ResourceResponse {
  const json = metadata && Buffer.from(JSON.stringify(metadata))
  return {
    status,
    headers: {
      'cf-r2-error': JSON.stringify({ message, version: 1, v4code: code }),
      ...(json && { 'cf-r2-metadata-size': String(json.length) }),
    },
    ...(json && { body: json }),
  }
}

function shown(key: string, object: StoredObject) {
  const { version, size, etag, uploaded, http, custom, checksums, storage_class: storageClass } = object
  return {
    name: key,
    version,
    size,
    etag,
    uploaded,
    httpFields: http,
    customFields: Object.entries(custom).map(([k, v]) => ({ k, v })),
    checksums: Object.fromEntries(DIGESTS.flatMap((name, at) => (checksums[name] ? [[at, checksums[name]]] : []))),
    storageClass,
  }
}

function fieldsOf({ httpFields = {}, customFields = [], storageClass }: R2Request): ObjectFields {
  const http = Object.fromEntries(
    HTTP_FIELDS.flatMap((name): [string, string | number][] => {
      const value = httpFields[name]
      return value === undefined ? [] : [[name, name === 'cacheExpiry' ? Number(value) : String(value)]]
    }),
  )
  return { http, custom: Object.fromEntries(customFields.map(({ k, v }) => [k, v])), storageClass }
}

function conditionOf({ onlyIf }: R2Request): ObjectCondition | undefined {
  if (!onlyIf) return undefined
  const { etagMatches, etagDoesNotMatch, uploadedBefore, uploadedAfter, secondsGranularity } = onlyIf
  return {
    ...(Array.isArray(etagMatches) && { etagMatches: etagMatches as EtagTest[] }),
    ...(Array.isArray(etagDoesNotMatch) && { etagDoesNotMatch: etagDoesNotMatch as EtagTest[] }),
    ...(uploadedBefore !== undefined && { uploadedBefore: Number(uploadedBefore) }),
    ...(uploadedAfter !== undefined && { uploadedAfter: Number(uploadedAfter) }),
    secondsGranularity: secondsGranularity === true,
  }
}

const rangeOf = ({ range }: R2Request) =>
  range &&
  Object.fromEntries(
    (['offset', 'length', 'suffix'] as const).flatMap((name) =>
      range[name] === undefined ? [] : [[name, Number(range[name])]],
    ),
  )

/** Digests come in base64 or in hexadecimal. */
function digestsOf(request: R2Request): ReadonlyMap<Digest, string> {
  const sent = DIGESTS.flatMap((name): [Digest, string][] => {
    const value = request[name]
    if (value === undefined) return []
    return [
      [
        name,
        /^[0-9a-f]+$/i.test(value) && value.length % 8 === 0 ? value : Buffer.from(value, 'base64').toString('hex'),
      ],
    ]
  })
  return new Map(sent)
}
