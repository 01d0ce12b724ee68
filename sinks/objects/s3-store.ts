import { createHash } from 'node:crypto'
import type * as Aws from '@aws-sdk/client-s3'
import { MAX_IN_FLIGHT, type BatchBody } from '../../src/core/sink.js'
import type { SinkDeps } from '../contract/sink-type.js'
import type { ObjectStore, ContentType } from './object-sink.js'
import { PART_BYTES } from './object-sink.js'
import { parts } from './parts.js'
import { s3Failure } from './s3-failure.js'

export interface S3Place {
  readonly bucket: string
  readonly region: string
  /** Absent for AWS. */
  readonly endpoint?: string
  /** Keys. If absent, the credentials of the daemon are used, from environment, profile or role of the machine. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string }
  /** Options for each new object. */
  readonly object?: Pick<Aws.PutObjectCommandInput, 'ACL' | 'ServerSideEncryption'>
}

type Sdk = typeof Aws

/** A bucket whose objects can also be listed and deleted. */
export interface S3Store extends ObjectStore {
  /** Returns the keys that begin with `prefix`. Rejects if there are more than `max`. */
  list(prefix: string, max: number, signal: AbortSignal): Promise<string[]>
  remove(key: string, signal: AbortSignal): Promise<void>
}

/** S3 accepts at most this many parts. */
const MAX_PARTS = 10_000

interface Opened {
  readonly sdk: Sdk
  readonly client: Aws.S3Client
}

/** A bucket of S3, or of a server that speaks like it. Nothing is loaded or connected before the first object. */
export function s3Store(
  { bucket, region, endpoint, credentials, object }: S3Place,
  deps: Pick<SinkDeps, 'egress' | 'clock'>,
): S3Store {
  const agents = deps.egress.agents({ maxSockets: MAX_IN_FLIGHT })
  const host = endpoint ? `${new URL(endpoint).host}/${bucket}` : `s3://${bucket}`
  let opened: Promise<Opened> | undefined

  return { label: bucket, put, upload, list, remove, close }

  async function open(): Promise<Opened> {
    const sdk = await loadSdk()
    const config: Aws.S3ClientConfig = {
      region,
      // The loop of the job retries, because it knows about other waiting work.
      maxAttempts: 1,
      expectContinueHeader: false,
      requestHandler: {
        httpAgent: agents.http,
        httpsAgent: agents.https,
        connectionTimeout: CONNECT_MS,
        socketTimeout: IDLE_MS,
      },
      ...(credentials && { credentials }),
      // Servers that are only compatible with S3 reject checksums other than Content-MD5, which is always sent.
      ...(endpoint && {
        endpoint,
        forcePathStyle: true,
        requestChecksumCalculation: 'WHEN_REQUIRED',
        responseChecksumValidation: 'WHEN_REQUIRED',
      }),
    }
    return { sdk, client: new sdk.S3Client(config) }
  }

  async function put(key: string, bytes: Uint8Array, type: ContentType, abortSignal: AbortSignal): Promise<void> {
    await attempt(abortSignal, async ({ sdk, client }) => {
      const input = { Bucket: bucket, Key: key, Body: bytes, ContentMD5: md5(bytes), ContentType: type, ...object }
      await client.send(new sdk.PutObjectCommand(input), { abortSignal })
    })
  }

  async function upload(key: string, body: BatchBody, type: ContentType, abortSignal: AbortSignal): Promise<void> {
    await attempt(abortSignal, async ({ sdk, client }) => {
      const place = { Bucket: bucket, Key: key }
      const create = new sdk.CreateMultipartUploadCommand({ ...place, ContentType: type, ...object })
      const { UploadId } = await client.send(create, { abortSignal })
      try {
        const Parts: Aws.CompletedPart[] = []
        for await (const bytes of parts(body, Math.max(PART_BYTES, Math.ceil(body.length / MAX_PARTS)))) {
          const PartNumber = Parts.length + 1
          const input = { ...place, UploadId, PartNumber, Body: bytes, ContentMD5: md5(bytes) }
          const { ETag } = await client.send(new sdk.UploadPartCommand(input), { abortSignal })
          Parts.push({ PartNumber, ETag })
        }
        const complete = { ...place, UploadId, MultipartUpload: { Parts } }
        await client.send(new sdk.CompleteMultipartUploadCommand(complete), { abortSignal })
      } catch (error) {
        await abandon(client, new sdk.AbortMultipartUploadCommand({ ...place, UploadId }))
        throw error
      }
    })
  }

  async function list(prefix: string, max: number, abortSignal: AbortSignal): Promise<string[]> {
    const keys: string[] = []
    await attempt(abortSignal, async ({ sdk, client }) => {
      for (let ContinuationToken: string | undefined; ;) {
        const input = { Bucket: bucket, Prefix: prefix, ...(ContinuationToken && { ContinuationToken }) }
        const found = await client.send(new sdk.ListObjectsV2Command(input), { abortSignal })
        keys.push(...(found.Contents ?? []).flatMap(({ Key }) => Key ?? []))
        if (keys.length > max) throw new Error(`more than ${max} objects begin with ${prefix}`)
        ContinuationToken = found.NextContinuationToken
        if (ContinuationToken === undefined) return
      }
    })
    return keys
  }

  async function remove(key: string, abortSignal: AbortSignal): Promise<void> {
    await attempt(abortSignal, async ({ sdk, client }) => {
      await client.send(new sdk.DeleteObjectCommand({ Bucket: bucket, Key: key }), { abortSignal })
    })
  }

  async function attempt(signal: AbortSignal, work: (open: Opened) => Promise<void>): Promise<void> {
    signal.throwIfAborted()
    try {
      opened ??= open()
      await work(await opened)
    } catch (error) {
      signal.throwIfAborted()
      throw s3Failure(host, error, deps.clock)
    }
  }

  function close(): void {
    agents.destroy()
  }
}

/** Parts of an upload that is never completed are kept, and paid for, until it is aborted. */
async function abandon(client: Aws.S3Client, abort: Aws.AbortMultipartUploadCommand): Promise<void> {
  try {
    // Without the signal of the upload, because that signal may have ended the upload.
    await client.send(abort, { abortSignal: AbortSignal.timeout(ABANDON_MS) })
  } catch {
    // The upload has already failed for its own reason. Remaining parts are left to a lifecycle rule of the bucket.
  }
}

const CONNECT_MS = 10_000
/** Longest silence of a server in the middle of a response. */
const IDLE_MS = 60_000
const ABANDON_MS = 10_000

/** Loading takes 0.2 s, so it is done only if a job needs it. */
export async function loadSdk(): Promise<Sdk> {
  // The SDK warns on standard error about versions of Node that later releases will require.
  process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] = 'true'
  return await import('@aws-sdk/client-s3')
}

function md5(bytes: Uint8Array): string {
  return createHash('md5').update(bytes).digest('base64')
}
