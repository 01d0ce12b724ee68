import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto'
import type { Checksum, SourceData } from '@smithy/types'
import type { Clock } from '../src/core/clock.js'
import { SinkError } from '../src/core/sink.js'
import { failureOf } from './contract/failure.js'
import type { HttpClient } from './http/client.js'
import { loadSdk } from './objects/s3-store.js'
import { elements } from './xml.js'

export interface AwsKeys {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

/** Source of keys. */
export interface KeySource {
  readonly region: string
  /** Keys of the destination. If undefined, the credentials of the daemon are used. */
  readonly own: AwsKeys | undefined
  /** Role to assume with the keys. */
  readonly role: { readonly arn: string; readonly externalId: string | undefined } | undefined
  /** Where roles are assumed. */
  readonly stsOrigin: string
}

/** Keys that are good now. */
export interface KeyRing {
  /** Rejects with a SinkError, or the signal's reason. */
  current(signal: AbortSignal): Promise<AwsKeys>
  /** The keys of an assumed role have expired. */
  forget(): void
}

interface Assumed {
  readonly keys: AwsKeys
  /** Milliseconds since 1970. */
  readonly until: number
}

export function keyRing({ region, own, role, stsOrigin }: KeySource, client: HttpClient, clock: Clock): KeyRing {
  let assumed: Assumed | undefined

  return {
    async current(signal) {
      if (!role) return own ?? (await daemonKeys(region))
      if (assumed && assumed.until - EARLY_MS > clock.now()) return assumed.keys
      const fresh = await assume(role, signal)
      assumed = fresh
      return fresh.keys
    },
    forget() {
      assumed = undefined
    },
  }

  async function assume({ arn, externalId }: NonNullable<typeof role>, signal: AbortSignal): Promise<Assumed> {
    const form = new URLSearchParams({
      Action: 'AssumeRole',
      Version: '2011-06-15',
      RoleArn: arn,
      RoleSessionName: 'edged',
      ...(externalId !== undefined && { ExternalId: externalId }),
    })
    const keys = own ?? (await daemonKeys(region))
    const request = { url: new URL(stsOrigin), region, service: 'sts', text: form.toString(), keys, clock }
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const response = await client.request(await signedPost({ ...request, headers }), signal)
    const found = elements(response.text, ['AccessKeyId', 'SecretAccessKey', 'SessionToken', 'Expiration', 'Code'])
    const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, SessionToken: sessionToken, Code: code } = found
    if (response.status !== 200) {
      const shown = code !== undefined && /^[A-Za-z]{1,64}$/.test(code) ? ` ${code}` : ''
      const failure = code === 'Throttling' ? 'transient' : failureOf(response.status)
      throw new SinkError(failure, `the role could not be assumed: ${response.status}${shown}`)
    }
    const until = Date.parse(found.Expiration ?? '')
    if (!accessKeyId || !secretAccessKey || !sessionToken || Number.isNaN(until))
      throw new SinkError('transient', 'the role could not be assumed: the response has no keys')
    return { keys: { accessKeyId, secretAccessKey, sessionToken }, until }
  }
}

/** New keys are asked for this long before the old ones end. */
const EARLY_MS = 5 * 60_000

/** From the environment, a profile or the machine, in the order that AWS documents for its tools. */
async function daemonKeys(region: string): Promise<AwsKeys> {
  const { S3Client } = await loadSdk()
  const client = new S3Client({ region })
  try {
    const { accessKeyId, secretAccessKey, sessionToken } = await client.config.credentials()
    return { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) }
  } catch {
    throw new SinkError('refused', 'the daemon has no credentials for AWS')
  } finally {
    client.destroy()
  }
}

/** Signs a POST request with Signature Version 4 of AWS. */
export async function signedPost(request: {
  readonly url: URL
  readonly region: string
  readonly service: string
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly keys: AwsKeys
  readonly clock: Pick<Clock, 'now'>
}): Promise<{ readonly url: URL; readonly headers: Readonly<Record<string, string>>; readonly body: Uint8Array }> {
  const { url, region, service, headers, text, keys, clock } = request
  const { SignatureV4 } = await import('@smithy/signature-v4')
  const signer = new SignatureV4({ service, region, credentials: keys, sha256: Sha256 })
  const signed = await signer.sign(
    {
      method: 'POST',
      protocol: url.protocol,
      hostname: url.hostname,
      path: '/',
      query: {},
      headers: { ...headers, host: url.host },
      body: text,
    },
    { signingDate: new Date(clock.now()) },
  )
  return { url, headers: signed.headers, body: Buffer.from(text) }
}

/** SHA-256 for the signer. With a key it is an HMAC. */
class Sha256 implements Checksum {
  readonly digestLength = 32
  readonly #key: SourceData | undefined
  #hash: Hash | Hmac

  constructor(key?: SourceData) {
    this.#key = key
    this.#hash = opened(key)
  }

  update(data: Uint8Array): void {
    this.#hash.update(data)
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest()
  }

  reset(): void {
    this.#hash = opened(this.#key)
  }
}

const opened = (key: SourceData | undefined): Hash | Hmac =>
  key === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(key))

function bytesOf(data: SourceData): Uint8Array {
  if (typeof data === 'string') return Buffer.from(data)
  return ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data)
}
