import { gzipSync } from 'node:zlib'
import { Type } from 'typebox'
import { strict } from '../src/core/schema.js'
import { SinkError, type SinkFailure } from '../src/core/sink.js'
import { keyRing, signedPost, type KeySource } from './aws-keys.js'
import { failureOf } from './contract/failure.js'
import { HttpClient } from './http/client.js'
import { ACCESS_KEYS, ENDPOINT, endpointOf, keysOf, REGION } from './objects/bucket.js'
import { noPath } from './streams/server.js'
import { paramReader, reject, text } from './contract/params.js'
import { TEST_TEXT, type SinkDeps, type SinkType } from './contract/sink-type.js'

const PARAMS = Type.Object(
  {
    region: REGION,
    ...ACCESS_KEYS,
    'sts-assume-role-arn': Type.Optional(
      text('Role to assume, with the keys of the destination or the credentials of the daemon.', {
        pattern: '^arn:aws[a-z-]*:iam::\\d{12}:role\\/[\\w+=,.@/-]{1,512}$',
        'x-message': 'is not the ARN of a role',
      }),
    ),
    'sts-external-id': Type.Optional(
      Type.String({
        description: 'External id for the role.',
        'x-secret': true,
        pattern: '^[\\w+=,.@:/-]{2,1224}$',
        'x-message': 'is not an external id',
      }),
    ),
    endpoint: ENDPOINT,
  },
  strict,
)
const read = paramReader(PARAMS)

/**
 * Each batch is one gzipped record of the stream, with its name as the partition key. Needs keys or a role. A role is
 * assumed with the keys of the destination, else with the credentials of the daemon.
 */
export const kinesis: SinkType = {
  scheme: 'kinesis',
  form: 'kinesis://stream',
  summary: 'a gzipped record of a stream',
  params: PARAMS,

  check(destination, deps) {
    settingsOf(destination, deps)
  },

  open(destination, deps) {
    const settings = settingsOf(destination, deps)
    const { stream, region, origin } = settings
    const client = new HttpClient(deps)
    const ring = keyRing(settings, client, deps.clock)

    return {
      encoding: 'gzip',
      limits: { bytes: BATCH_BYTES },
      daily: false,

      async write({ name, body }, signal) {
        if (body.length + Buffer.byteLength(name) > RECORD_BYTES)
          throw new SinkError('too_large', `a record of ${body.length} bytes is more than Kinesis takes`)
        await put(name, await body.bytes(), signal)
      },

      async check(signal) {
        await put('test', gzipSync(TEST_TEXT), signal)
      },

      async close() {
        client.close()
      },
    }

    async function put(name: string, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
      const text = JSON.stringify({
        StreamName: stream,
        PartitionKey: name,
        Data: Buffer.from(bytes).toString('base64'),
      })
      const headers = { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': 'Kinesis_20131202.PutRecord' }
      const url = new URL(origin)
      const keys = await ring.current(signal)
      const request = { url, region, service: 'kinesis', headers, text, keys, clock: deps.clock }
      const response = await client.request(await signedPost(request), signal)
      if (response.status === 200) return
      const code = codeOf(response.text)
      if (code?.startsWith('ExpiredToken')) ring.forget()
      const failure = client.failure(url, response)
      throw new SinkError(
        (code !== undefined && CODES[code]) || failureOf(response.status),
        `${failure.message}${code === undefined ? '' : ` ${code}`}`,
        failure.retryAfterMs === undefined ? {} : { retryAfterMs: failure.retryAfterMs },
      )
    }
  },
}

/** Maximum size of a Kinesis record, which counts data before base64 encoding, and partition key. */
const RECORD_BYTES = 1024 * 1024
/** Of text, which gzip makes larger by a few bytes at worst. */
const BATCH_BYTES = 1_000_000

/** Kinesis responds with 400 to most errors. */
const CODES: Readonly<Record<string, SinkFailure | undefined>> = {
  ExpiredTokenException: 'transient',
  InternalFailureException: 'transient',
  KMSThrottlingException: 'transient',
  LimitExceededException: 'transient',
  ProvisionedThroughputExceededException: 'transient',
  ThrottlingException: 'transient',
}

function codeOf(text: string): string | undefined {
  return /"__type"\s*:\s*"(?:[\w.]{1,64}#)?([A-Za-z]{1,64})"/.exec(text)?.[1]
}

interface Settings extends KeySource {
  readonly stream: string
  readonly origin: string
}

function settingsOf(destination: URL, deps: SinkDeps): Settings {
  const { hostname: stream, host, username, password } = destination
  if (host !== stream || username !== '' || password !== '')
    reject('has a user name or a port; write kinesis://STREAM?region=REGION')
  if (!/^[A-Za-z0-9_.-]{1,128}$/.test(stream))
    reject('has an invalid stream name; use letters, digits, ".", "_" and "-"')
  noPath(destination)
  const given = read(destination)
  const { region } = given
  const { 'sts-assume-role-arn': arn, 'sts-external-id': externalId } = given
  const own = keysOf(given)
  if (own === undefined && arn === undefined)
    reject('needs access-key-id and secret-access-key, or sts-assume-role-arn')
  if (externalId !== undefined && arn === undefined) reject('has sts-external-id, which needs sts-assume-role-arn')
  // The daemon's own credentials must not sign requests to another server.
  if (given.endpoint !== undefined && own === undefined)
    reject('has an endpoint and needs access-key-id and secret-access-key')
  const endpoint = given.endpoint && endpointOf(given.endpoint, deps)
  const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'
  return {
    stream,
    region,
    origin: endpoint ?? `https://kinesis.${region}.${domain}`,
    stsOrigin: endpoint ?? `https://sts.${region}.${domain}`,
    own,
    role: arn === undefined ? undefined : { arn, externalId },
  }
}
