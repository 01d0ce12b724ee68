import { createHash } from 'node:crypto'
import type { Received, ReceiverResponse } from './http-receiver.js'

/** A fake of an Azure container with blocks and blobs: a handler for an HTTP receiver, and the blobs by path. */
export function blobFake(signature: string): {
  response: (request: Received) => ReceiverResponse
  blobs: Map<string, Buffer>
} {
  const blobs = new Map<string, Buffer>()
  const waiting = new Map<string, Buffer>()
  const refused = (status: number, code: string): ReceiverResponse => ({ status, headers: { 'x-ms-error-code': code } })

  function response({ method, target, headers, body }: Received): ReceiverResponse {
    const { pathname, searchParams } = new URL(target, 'http://host')
    const path = decodeURIComponent(pathname)
    if (searchParams.get('sig') !== signature) return refused(403, 'AuthenticationFailed')
    if (method !== 'PUT') return refused(405, 'UnsupportedHttpVerb')
    if (headers['content-md5'] !== createHash('md5').update(body).digest('base64')) return refused(400, 'Md5Mismatch')
    if (headers['x-ms-version'] === undefined) return refused(400, 'MissingRequiredHeader')

    const step = searchParams.get('comp')
    if (step === 'block') waiting.set(`${path} ${searchParams.get('blockid')}`, body)
    else if (step === 'blocklist') {
      const ids = [...body.toString().matchAll(/<Latest>([^<]*)<\/Latest>/g)].map(([, id]) => id)
      const blocks = ids.flatMap((id) => waiting.get(`${path} ${id}`) ?? [])
      if (blocks.length !== ids.length) return refused(400, 'InvalidBlockList')
      blobs.set(path, Buffer.concat(blocks))
    } else if (headers['x-ms-blob-type'] !== 'BlockBlob') return refused(400, 'InvalidHeaderValue')
    else blobs.set(path, body)
    return { status: 201 }
  }

  return { response, blobs }
}
