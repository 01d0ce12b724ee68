/**
 * Reads objects of an S3 bucket, found by listing a prefix. Each content of an object is read once. A ledger next to
 * the spool has the objects read so far, and the position within an object after each sync of the spool.
 */
import type * as Aws from '@aws-sdk/client-s3'
import type { FrameWriter } from '../../logpush/spool/types.js'
import type { Input } from '../intake/input.js'
import { ObjectLedger, type StoredObject } from './object-ledger.js'
import { commitPatiently, intakeRecords } from '../intake/record-intake.js'
import { NotStored, reconnecting, SourceRejected } from '../intake/reconnect.js'
import { SourceLosses } from '../intake/source-losses.js'
import { spoolInput, type TakingDeps } from '../intake/spool-input.js'

export interface S3Options {
  readonly bucket: string
  /** Keys begin with it. */
  readonly prefix?: string | undefined
  readonly region?: string | undefined
  /** Origin of a server other than AWS. */
  readonly endpoint?: string | undefined
  /** Keys. If undefined, the credentials of the environment are used. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string } | undefined
  /** Interval between listings. If undefined, the input ends after the existing objects. */
  readonly intervalMs?: number | undefined
  /** Objects of one listing request. The default is decided by the server, 1000. */
  readonly pageSize?: number | undefined
  /** Loads the client. */
  readonly sdk: () => Promise<typeof Aws>
  /** Called with messages for the user. */
  readonly tell: (message: string) => void
}

const CONNECT_MS = 10_000
/** Longest silence of a server within a response. */
const IDLE_MS = 60_000
const DEFAULT_REGION = 'us-east-1'
/** Objects in these classes have to be restored before they can be read. */
const ARCHIVED = new Set(['GLACIER', 'DEEP_ARCHIVE'])
/** Errors that a repetition does not help with. */
const REJECTIONS =
  /^(NoSuchBucket|InvalidBucketName|InvalidAccessKeyId|SignatureDoesNotMatch|AccessDenied|CredentialsProviderError|PermanentRedirect)$/
/** The object was deleted after it was listed, or replaced. */
const DELETED = /^(NoSuchKey|NotFound)$/
const REPLACED = 'PreconditionFailed'
/** Objects that are replaced while they are read, each time, are left to a later run after this many listings. */
const MAX_LISTINGS = 5

/** Reads the objects of a prefix in the order of their keys. Waits while the server cannot be reached. */
export async function s3Input(options: S3Options, deps: TakingDeps): Promise<Input> {
  const { bucket, prefix = '', intervalMs, tell } = options
  const { clock, folder } = deps
  const place = `s3://${bucket}/${prefix}`
  const ledger = await ObjectLedger.open(folder)
  if (ledger.size > 0)
    tell(`${ledger.size} objects of ${place} were read by an earlier run, whose state is in ${folder}`)
  const input = await spoolInput(deps, {
    endless: intervalMs !== undefined,
    async take(writer, signal) {
      const losses = new SourceLosses({ ...deps, tell }, `records of ${place}`)
      const bucketReader = await BucketReader.open(options, deps, { ledger, losses }, signal)
      const session = async (working: () => void) => {
        for (let listings = 1; ; listings++) {
          const isWhole = await bucketReader.read(writer, working)
          if (intervalMs === undefined && (isWhole || listings === MAX_LISTINGS)) return
          if (intervalMs !== undefined) await clock.sleep(intervalMs, signal)
        }
      }
      try {
        await reconnecting(session, { place, tell, clock, signal })
      } finally {
        losses.flush()
        bucketReader.close()
      }
    },
  })
  return {
    ...input,
    async close() {
      await input.close()
      await ledger.close()
    },
  }
}

interface ReaderState {
  readonly ledger: ObjectLedger
  readonly losses: SourceLosses
}

class BucketReader {
  readonly #sdk: typeof Aws
  readonly #client: Aws.S3Client
  readonly #options: S3Options
  readonly #deps: TakingDeps
  readonly #ledger: ObjectLedger
  readonly #losses: SourceLosses
  readonly #signal: AbortSignal

  private constructor(
    sdk: typeof Aws,
    options: S3Options,
    { deps, ledger, losses, signal }: ReaderState & { readonly deps: TakingDeps; readonly signal: AbortSignal },
  ) {
    const { region, endpoint, credentials } = options
    this.#sdk = sdk
    this.#options = options
    this.#deps = deps
    this.#ledger = ledger
    this.#losses = losses
    this.#signal = signal
    this.#client = new sdk.S3Client({
      ...((region ?? endpoint) !== undefined && { region: region ?? DEFAULT_REGION }),
      ...(credentials && { credentials }),
      ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: IDLE_MS },
    })
  }

  static async open(options: S3Options, deps: TakingDeps, state: ReaderState, signal: AbortSignal) {
    return new BucketReader(await options.sdk(), options, { ...state, deps, signal })
  }

  /**
   * Reads objects that are new or whose content changed since they were read. Returns false if an object was replaced
   * in the meantime.
   */
  async read(writer: () => FrameWriter, working: () => void): Promise<boolean> {
    let isWhole = true
    try {
      for await (const object of this.#list(working)) {
        const records = this.#ledger.progress(object)
        if (records !== undefined && !(await this.#object(object, records, writer))) isWhole = false
      }
      // Of some an earlier listing had another content, or they were deleted.
      if ((await this.#ledger.listed()) > 0) this.#losses.add(undefined)
      return isWhole
    } catch (error) {
      throw explained(error)
    }
  }

  close(): void {
    this.#client.destroy()
  }

  async *#list(working: () => void): AsyncGenerator<StoredObject> {
    const { bucket, prefix, pageSize } = this.#options
    let token: string | undefined
    do {
      const listing = new this.#sdk.ListObjectsV2Command({
        Bucket: bucket,
        ...(prefix !== undefined && { Prefix: prefix }),
        ...(pageSize !== undefined && { MaxKeys: pageSize }),
        ...(token !== undefined && { ContinuationToken: token }),
      })
      const response = await this.#client.send(listing, { abortSignal: this.#signal })
      working()
      for (const { Key: key, ETag: etag = '', LastModified: time, Size: size = 0, StorageClass } of response.Contents ??
        [])
        if (key !== undefined && size > 0 && !ARCHIVED.has(StorageClass ?? ''))
          yield { key, etag, modified: time?.getTime() ?? 0, size }
      token = response.IsTruncated === true ? response.NextContinuationToken : undefined
    } while (token !== undefined)
  }

  /** Reads an object from the record on that follows the first `safe` ones. Returns false if it was replaced before that. */
  async #object(object: StoredObject, safe: number, open: () => FrameWriter): Promise<boolean> {
    const body = await this.#body(object)
    if (body === 'replaced') return false
    if (body === undefined) return true
    const { stats, clock, lines } = this.#deps
    const writer = open()
    const taken = { read: 0 }
    const reject = (line: number, message: string) => {
      if (taken.read > safe) stats.reject(`${object.key}:${line}`, message)
    }
    const commit = async () => {
      stats.read += Math.max(0, taken.read - Math.max(safe, counted))
      counted = taken.read
      if (writer.count > 0) {
        await commitPatiently(writer, clock, this.#signal).catch((error: unknown) => {
          throw this.#signal.aborted ? error : new NotStored(error)
        })
      }
      if (taken.read > safe) await this.#ledger.save(object, taken.read)
    }
    let counted = 0
    const unread = {
      add: (...record: Parameters<FrameWriter['add']>) => {
        if (taken.read > safe) writer.add(...record)
      },
      get count() {
        return writer.count
      },
      get size() {
        return writer.size
      },
    }
    const damaged = (message: string) => stats.damage(object.key, message)
    await intakeRecords(body, unread, { reject, commit, taken, damaged, lines })
    await commit()
    await this.#ledger.save(object, Infinity)
    return true
  }

  async #body(object: StoredObject): Promise<AsyncIterable<Uint8Array> | 'replaced' | undefined> {
    const get = new this.#sdk.GetObjectCommand({ Bucket: this.#options.bucket, Key: object.key, IfMatch: object.etag })
    try {
      const { Body } = await this.#client.send(get, { abortSignal: this.#signal })
      return Body as AsyncIterable<Uint8Array> | undefined
    } catch (error) {
      const isReplaced = error instanceof Error && error.name === REPLACED
      if (!isReplaced && !(error instanceof Error && DELETED.test(error.name))) throw error
      this.#losses.add(undefined, object.key)
      this.#ledger.forget(object)
      // The next listing has its new content.
      return isReplaced ? 'replaced' : undefined
    }
  }
}

/** Converts an error of the client, with the code of the response instead of its text. */
function explained(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof NotStored) return error
  const { name, message, $metadata, code } = error as Error & {
    readonly $metadata?: { readonly httpStatusCode?: number }
    readonly code?: string
  }
  if (REJECTIONS.test(name)) return new SourceRejected(name === 'CredentialsProviderError' ? 'no credentials' : name)
  const status = $metadata?.httpStatusCode
  return status === undefined ? new Error(code ?? message) : new Error(`the server responded with ${status} ${name}`)
}
