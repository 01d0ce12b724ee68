import aws4 from 'aws4'
import type { Clock } from '../src/core/clock.js'
import { SinkError } from '../src/core/sink.js'
import { failureOf } from './failure.js'
import type { HttpClient } from './http/client.js'
import { loadSdk } from './objects/s3-store.js'
import { elements } from './xml.js'

export interface AwsKeys {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

/** Where keys come from. */
export interface KeySource {
  readonly region: string
  /** Given by the destination; else the credentials that the daemon runs with. */
  readonly own: AwsKeys | undefined
  /** To be assumed with those. */
  readonly role: { readonly arn: string; readonly externalId: string | undefined } | undefined
  /** Where roles are assumed. */
  readonly stsOrigin: string
}

/** Keys that are good now. */
export interface KeyRing {
  /** Rejects with a SinkError, or the signal's reason. */
  current(signal: AbortSignal): Promise<AwsKeys>
  /** Those of an assumed role are no longer good. */
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
    const response = await client.request(signedPost({ ...request, headers }), signal)
    const found = elements(response.text, ['AccessKeyId', 'SecretAccessKey', 'SessionToken', 'Expiration', 'Code'])
    const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, SessionToken: sessionToken, Code: code } = found
    if (response.status !== 200) {
      const shown = code !== undefined && /^[A-Za-z]{1,64}$/.test(code) ? ` ${code}` : ''
      const failure = code === 'Throttling' ? 'transient' : failureOf(response.status)
      throw new SinkError(failure, `the role could not be assumed: ${response.status}${shown}`)
    }
    const until = Date.parse(found.Expiration ?? '')
    if (!accessKeyId || !secretAccessKey || !sessionToken || Number.isNaN(until))
      throw new SinkError('transient', 'the role could not be assumed: the answer has no keys')
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

/** A POST that AWS takes for one of the owner of the keys (Signature Version 4). */
export function signedPost(request: {
  readonly url: URL
  readonly region: string
  readonly service: string
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly keys: AwsKeys
  readonly clock: Pick<Clock, 'now'>
}): { readonly url: URL; readonly headers: Readonly<Record<string, string>>; readonly body: Uint8Array } {
  const { url, region, service, headers, text, keys, clock } = request
  const now = new Date(clock.now()).toISOString().replaceAll(/[-:]|\.\d{3}/g, '')
  const signed = aws4.sign(
    {
      host: url.host,
      path: '/',
      method: 'POST',
      service,
      region,
      body: text,
      headers: { ...headers, 'X-Amz-Date': now },
    },
    keys,
  )
  return { url, headers: signed.headers as Record<string, string>, body: Buffer.from(text) }
}
