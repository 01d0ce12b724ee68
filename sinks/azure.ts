import { createHash } from 'node:crypto'
import { SinkError, type BatchBody } from '../src/core/sink.js'
import { Type } from 'typebox'
import { HttpClient } from './http/client.js'
import { folder, type Folder } from './objects/folder.js'
import { objectSink, PART_BYTES, type ContentType, type ObjectStore } from './objects/object-sink.js'
import { FORMAT, type ObjectFormat } from './objects/format.js'
import { parts } from './objects/parts.js'
import { pathOf, reject, secret, text } from './contract/params.js'
import type { SinkDeps, SinkType } from './contract/sink-type.js'

/**
 * Gzipped block blobs in Azure storage. The destination is the URL of a shared access signature (SAS) with another
 * scheme than https. The signature is for objects and has the permission to write. The owner of a job has to prove that
 * they own the container.
 */
export const azure: SinkType = {
  scheme: 'azure',
  form: 'azure://account.blob.core.windows.net/container/folder/{DATE}',
  summary: 'a gzipped block blob',
  params: Type.Object({
    sig: secret('Signature of the SAS URL, whose other parameters stay as they are.'),
    sp: Type.Optional(text('Permissions of the SAS URL; must include w.')),
    srt: Type.Optional(text('Resource types of the SAS URL; must be o.')),
    ss: Type.Optional(text('Services of the SAS URL; must include b.')),
    format: FORMAT,
  }),

  ownership: () => true,

  check(destination) {
    placeOf(destination)
  },

  open(destination, deps) {
    const place = placeOf(destination)
    return objectSink(blobStore(place, deps), place.folder, deps.clock, place.format)
  },
}

interface Place {
  readonly origin: string
  readonly container: string
  readonly folder: Folder
  readonly format: ObjectFormat
  /** Query as given. It stays unchanged because the signature covers its text. */
  readonly sas: string
}

function placeOf(destination: URL): Place {
  const { host, username, password, searchParams: sas, search } = destination
  if (username !== '' || password !== '') reject('has a user name')
  const origin = `https://${host}`
  if (host === '' || !URL.canParse(origin)) reject('has no host')
  const [container = '', ...rest] = pathOf(destination).split('/')
  // If the host is not the host of an account, for example with emulators, this is the account, and the container
  // follows.
  if (!/^\$?[a-z0-9][a-z0-9-]{1,62}$/.test(container))
    reject('has an invalid container name; use 2 to 63 lower-case letters, digits and dashes')

  if (!sas.get('sig')) reject('has no signature; use the URL of a shared access signature')
  const types = sas.get('srt')
  if (types !== null && types !== 'o') reject('has an invalid query: signedResourceTypes must be Object only (srt=o)')
  const services = sas.get('ss')
  if (services !== null && !services.includes('b'))
    reject('has an invalid query: signedServices must include Blob (ss=b)')
  const rights = sas.get('sp')
  // Without rights in the URL, the policy stored with the container has them.
  if (rights !== null && !rights.includes('w'))
    reject('has an invalid query: signedPermissions must include Write (sp=w)')
  const format = sas.get('format')
  if (format !== null && format !== 'parquet') reject('has an invalid query: parameter format must be "parquet"')
  // The parameter is ours. It is not sent.
  const own = search.slice(1).split('&').filter((part) => !part.startsWith('format=')) // prettier-ignore
  return {
    origin,
    container,
    folder: folder(rest.join('/')),
    format: format === null ? undefined : format,
    sas: own.join('&'),
  }
}

/** A container. A blob up to the size of a part is one request. Larger ones are sent in blocks, which take effect together at the end. */
function blobStore({ origin, container, sas }: Place, deps: SinkDeps): ObjectStore {
  const client = new HttpClient(deps)
  return { label: container, put, upload, close: () => client.close() }

  async function put(key: string, bytes: Uint8Array, type: ContentType, signal: AbortSignal): Promise<void> {
    await send(key, '', bytes, { 'x-ms-blob-type': 'BlockBlob', 'x-ms-blob-content-type': type }, signal)
  }

  async function upload(key: string, body: BatchBody, type: ContentType, signal: AbortSignal): Promise<void> {
    const ids: string[] = []
    for await (const bytes of parts(body, PART_BYTES)) {
      // The same in each attempt, so that blocks of a failed attempt are replaced. Azure drops unused blocks after a
      // week.
      const id = Buffer.from(String(ids.length).padStart(6, '0')).toString('base64')
      await send(key, `comp=block&blockid=${encodeURIComponent(id)}&`, bytes, {}, signal)
      ids.push(id)
    }
    const list = `<?xml version="1.0" encoding="utf-8"?><BlockList>${ids.map((id) => `<Latest>${id}</Latest>`).join('')}</BlockList>`
    await send(key, 'comp=blocklist&', Buffer.from(list), { 'x-ms-blob-content-type': type }, signal)
  }

  async function send(
    key: string,
    query: string,
    body: Uint8Array,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<void> {
    const path = [container, ...key.split('/')].map(encodeURIComponent).join('/')
    const request = {
      method: 'PUT',
      url: new URL(`${origin}/${path}?${query}${sas}`),
      headers: {
        'x-ms-version': VERSION,
        'content-md5': createHash('md5').update(body).digest('base64'),
        'content-type': 'application/octet-stream',
        ...headers,
      },
      body,
    } as const
    const response = await client.request(request, signal)
    if (response.status === 201) return
    const failure = client.failure(request.url, response)
    const code = String(response.headers['x-ms-error-code'] ?? '')
    if (!/^[A-Za-z]{1,64}$/.test(code)) throw failure
    throw new SinkError(PASSING.has(code) ? 'transient' : failure.failure, `${failure.message} ${code}`, {
      ...(failure.retryAfterMs !== undefined && { retryAfterMs: failure.retryAfterMs }),
    })
  }
}

const VERSION = '2021-08-06'
/** Codes that mean a temporary failure in spite of their status. */
const PASSING: ReadonlySet<string> = new Set(['Md5Mismatch', 'InvalidBlockList', 'OperationTimedOut', 'ServerBusy'])
