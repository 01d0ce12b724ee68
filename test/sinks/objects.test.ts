import { randomBytes } from 'node:crypto'
import { t } from 'tap'
import { gs } from '../../sinks/gs.js'
import { openSink } from '../../sinks/index.js'
import { loadSdk } from '../../sinks/objects/s3-store.js'
import { r2 } from '../../sinks/r2.js'
import { s3 } from '../../sinks/s3.js'
import { diverted } from '../helpers/egress.js'
import { KEYS, s3Fake, type Fault } from '../helpers/s3-fake.js'
import { batchOf, depsFor, never, sinkDeps, unzipped } from '../helpers/sink-deps.js'
import { NO_SWIFT, swiftServer } from '../helpers/swift.js'

t.test('a real S3 server', { skip: NO_SWIFT }, async (t) => {
  const { CreateBucketCommand, GetObjectCommand, ListObjectsV2Command, S3Client } = await loadSdk()
  const { port, id, secret } = await swiftServer(t)
  const endpoint = `http://127.0.0.1:${port}`
  const client = new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: id, secretAccessKey: secret },
    requestChecksumCalculation: 'WHEN_REQUIRED',
  })
  t.teardown(() => client.destroy())
  await client.send(new CreateBucketCommand({ Bucket: 'logs' }))
  const to = (key: string) =>
    new URL(`s3://logs/a b/{DATE}?region=us-east-1&access-key-id=${id}&secret-access-key=${key}&endpoint=${endpoint}`)
  const deps = await depsFor([port])
  const sink = s3.open(to(secret), deps)
  t.teardown(() => sink.close())

  await sink.check(never)
  await sink.write(batchOf('{"a":1}\n', 'gzip'), never)
  const large = randomBytes(18 * 1024 * 1024)
  await sink.write(batchOf(large, 'gzip', { name: 'large' }), never)

  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: 'logs', Prefix: 'a b/20261121/' }))
  t.strictSame(
    Contents.map(({ Key }) => Key),
    [
      'a b/20261121/20261121T235959Z_20261122T000029Z_5f0c2e9a.log.gz',
      'a b/20261121/large.log.gz',
      'a b/20261121/test.txt.gz',
    ],
  )
  const read = async (Key: string) => {
    const { Body, ContentType } = await client.send(new GetObjectCommand({ Bucket: 'logs', Key }))
    return { bytes: Buffer.from(await Body!.transformToByteArray()), ContentType }
  }
  const small = await read(Contents[0]!.Key!)
  t.equal(unzipped(small.bytes), '{"a":1}\n')
  t.equal(small.ContentType, 'application/gzip')
  t.ok((await read(Contents[1]!.Key!)).bytes.equals(await batchOf(large, 'gzip').body.bytes()))

  const stranger = s3.open(to('wrong'), deps)
  await t.rejects(stranger.check(never), {
    failure: 'refused',
    message: `127.0.0.1:${port}/logs responded with 403 SignatureDoesNotMatch`,
  })
  await stranger.close()
})

t.test('an S3 that is strict and fails', async (t) => {
  const fake = await s3Fake(t)
  const where = (rest = '') =>
    new URL(
      `s3://logs/edge?region=us-east-1&access-key-id=${KEYS.id}&secret-access-key=${KEYS.secret}&endpoint=http://127.0.0.1:${fake.port}${rest}`,
    )
  const deps = await depsFor([fake.port, 1])
  const sink = s3.open(where('&sse=AES256'), deps)
  t.teardown(() => sink.close())
  const small = batchOf('{"a":1}\n', 'gzip', { name: 'small' })
  const bytes = randomBytes(20 * 1024 * 1024)
  const large = batchOf(bytes, 'gzip', { name: 'large' })
  const place = `127.0.0.1:${fake.port}/logs`

  await t.test('gets objects that are signed, hashed, and encrypted as asked', async (t) => {
    await sink.write(small, never)
    t.match(fake.objects.get('logs/edge/small.log.gz')?.headers, {
      'content-md5': /^[\w+/]{22}==$/,
      'x-amz-server-side-encryption': 'AES256',
      'x-amz-acl': undefined,
      'x-amz-checksum-crc32': undefined,
    })
    await sink.write(large, never)
    const stored = fake.objects.get('logs/edge/large.log.gz')
    t.ok(stored?.body.equals(await large.body.bytes()))
    t.match(stored?.headers, { 'x-amz-server-side-encryption': 'AES256', 'content-type': 'application/gzip' })
    t.equal(fake.uploads.size, 0)
    t.equal(await sink.put?.('ownership-challenge.txt', 'token', never), 'logs/edge/ownership-challenge.txt')
    t.equal(String(fake.objects.get('logs/edge/ownership-challenge.txt')?.body), 'token')
  })

  const FAULTS: [what: string, fault: Fault, failure: object][] = [
    [
      'SlowDown',
      { status: 503, code: 'SlowDown', headers: { 'retry-after': '7' } },
      { failure: 'transient', retryAfterMs: 7000, message: `${place} responded with 503 SlowDown` },
    ],
    ['a timeout that it noticed', { status: 400, code: 'RequestTimeout' }, { failure: 'transient' }],
    ['a damaged body', { status: 400, code: 'BadDigest' }, { failure: 'transient' }],
    ['an internal error', { status: 500, code: 'InternalError' }, { failure: 'transient' }],
    ['no permission', { status: 403, code: 'AccessDenied' }, { failure: 'refused' }],
    ['no bucket', { status: 404, code: 'NoSuchBucket' }, { failure: 'refused' }],
    ['another region', { status: 301, code: 'PermanentRedirect' }, { failure: 'refused' }],
    ['a body that is too large', { status: 400, code: 'EntityTooLarge' }, { failure: 'too_large' }],
    ['413', { status: 413, code: 'Whatever' }, { failure: 'too_large' }],
    [
      'a reset midway',
      { resetAfter: 10 },
      { failure: 'transient', message: /^127\.0\.0\.1.* could not be reached: E/ },
    ],
  ]
  for (const [what, fault, failure] of FAULTS)
    await t.test(`${what}: is reported, causes one request, and recovers afterwards`, async (t) => {
      fake.requests.length = 0
      fake.fault = () => fault
      await t.rejects(sink.write(small, never), { name: 'SinkError', ...failure })
      t.equal(fake.requests.length, 1)
      fake.fault = () => undefined
      await sink.write(small, never)
    })

  const MIDWAY: [what: string, which: RegExp, fault: Fault][] = [
    ['a part is refused', /partNumber=2/, { status: 503, code: 'SlowDown' }],
    ['the connection breaks in a part', /partNumber=2/, { resetAfter: 1_000_000 }],
    ['the last step fails inside of a 200', /^POST .*uploadId=/, 'late_error'],
    ['the last answer is cut short', /^POST .*uploadId=/, 'truncated'],
  ]
  for (const [what, which, fault] of MIDWAY)
    await t.test(`where ${what}, the upload is aborted and can be made again`, async (t) => {
      fake.requests.length = 0
      fake.fault = (request) => (which.test(request) ? fault : undefined)
      await t.rejects(sink.write(large, never), { name: 'SinkError', failure: 'transient' })
      t.match(fake.requests.at(-1), /^DELETE logs\/edge\/large\.log\.gz\?.*uploadId=/)
      t.equal(fake.uploads.size, 0)
      fake.fault = () => undefined
      await sink.write(large, never)
    })

  await t.test('an attempt ends with its signal, and its upload with it', async (t) => {
    const abort = new AbortController()
    fake.fault = (request) => {
      if (!request.includes('partNumber=2')) return undefined
      abort.abort(new Error('given up'))
      return 'silent'
    }
    await t.rejects(sink.write(large, abort.signal), { message: 'given up' })
    t.equal(fake.uploads.size, 0)
    fake.fault = () => undefined
  })

  await t.test('what a server says about a key is not repeated', async (t) => {
    fake.fault = () => ({ status: 403, code: `No ${KEYS.secret}`, text: `${KEYS.id} ${KEYS.secret}` })
    const error = await sink.write(small, never).catch((error: Error) => error)
    t.equal(String(error), `SinkError: ${place} responded with 403`)
    fake.fault = () => undefined
  })

  await t.test('a wrong secret is refused', async (t) => {
    const stranger = s3.open(new URL(where().href.replace('wJalr', 'other')), deps)
    await t.rejects(stranger.check(never), {
      failure: 'refused',
      message: `${place} responded with 403 SignatureDoesNotMatch`,
    })
    await stranger.close()
  })

  await t.test('Amazon gets the right of the owner and a checksum of its own', async (t) => {
    // As an operator sends the SDK to another place.
    process.env['AWS_ENDPOINT_URL_S3'] = `http://127.0.0.1:${fake.port}`
    t.teardown(() => delete process.env['AWS_ENDPOINT_URL_S3'])
    const keys = `access-key-id=${KEYS.id}&secret-access-key=${encodeURIComponent(KEYS.secret)}`
    // A bucket with dots cannot be a part of a host name under a certificate.
    const amazon = s3.open(new URL(`s3://my.logs?region=eu-west-1&${keys}`), deps)
    t.teardown(() => amazon.close())
    await amazon.check(never)
    const { body, headers } = fake.objects.get('my.logs/test.txt.gz')!
    t.equal(unzipped(body), '{"content":"tests"}')
    t.match(headers, { 'x-amz-acl': 'bucket-owner-full-control', 'x-amz-checksum-crc32': /==$/, 'content-md5': /==$/ })
    t.match(headers.authorization, /\/eu-west-1\/s3\//)
  })

  await t.test('a server that is not there', async (t) => {
    const gone = s3.open(new URL(where().href.replace(/127.*$/, '127.0.0.1:1')), deps)
    await t.rejects(gone.check(never), {
      failure: 'transient',
      message: '127.0.0.1:1/logs could not be reached: ECONNREFUSED',
    })
    await gone.close()
  })

  await t.test('a server that is not public', async (t) => {
    const inside = s3.open(new URL(where().href.replace(/127.*$/, '127.0.0.1:2')), deps)
    const failure = {
      failure: 'refused',
      message: 'the destination address is not allowed; the operator can allow it with egress.allow_cidrs',
    }
    await t.rejects(inside.check(never), failure)
    await inside.close()
  })
})

const OWNED: [destination: string, host: string][] = [
  ['gs://logs/a%20b/{DATE}?', 'storage.googleapis.com'],
  [`r2://logs/a%20b/{DATE}?account-id=${'a'.repeat(32)}&`, `${'a'.repeat(32)}.r2.cloudflarestorage.com`],
  [
    `r2://logs/a%20b/{DATE}?account-id=${'a'.repeat(32)}&jurisdiction=eu&`,
    `${'a'.repeat(32)}.eu.r2.cloudflarestorage.com`,
  ],
]
for (const [destination, host] of OWNED)
  t.test(`${host} is sent signed objects, large ones in parts`, async (t) => {
    const fake = await s3Fake(t, { tls: true })
    const dialled: string[] = []
    const deps = sinkDeps({ egress: diverted(fake.port, dialled), allowPlainHttp: false })
    const open = (secret: string) => {
      const keys = `access-key-id=${KEYS.id}&secret-access-key=${encodeURIComponent(secret)}`
      const sink = openSink(destination + keys, deps)
      t.teardown(() => sink.close())
      return sink
    }
    const sink = open(KEYS.secret)
    await sink.check(never)
    await sink.write(batchOf('{"a":1}\n', 'gzip', { name: 'small' }), never)
    const large = batchOf(randomBytes(18 * 1024 * 1024), 'gzip', { name: 'large' })
    await sink.write(large, never)
    await sink.put?.('ownership-challenge.txt', 'token', never)

    const at = 'logs/a b/20261121'
    t.strictSame([...fake.objects.keys()].sort(), [
      `${at}/large.log.gz`,
      `${at}/ownership-challenge.txt`,
      `${at}/small.log.gz`,
      `${at}/test.txt.gz`,
    ])
    t.equal(unzipped(fake.objects.get(`${at}/small.log.gz`)!.body), '{"a":1}\n')
    t.ok(fake.objects.get(`${at}/large.log.gz`)!.body.equals(Buffer.from(await large.body.bytes())))
    t.equal(fake.requests.filter((request) => request.includes('partNumber=')).length, 3)
    t.match(fake.objects.get(`${at}/small.log.gz`)!.headers, {
      authorization: /\/auto\/s3\/aws4_request/,
      'content-md5': /==$/,
      'x-amz-acl': undefined,
      'x-amz-checksum-crc32': undefined,
    })
    t.strictSame([...fake.hosts], [host])
    t.strictSame([...new Set(dialled)], [`${host}:443`])

    const failure = { failure: 'refused', message: `${host}/logs responded with 403 SignatureDoesNotMatch` }
    await t.rejects(open('wrong').check(never), failure)
    fake.fault = () => ({ status: 503, code: 'SlowDown', headers: { 'retry-after': '7' } })
    await t.rejects(sink.check(never), { name: 'SinkError', failure: 'transient', retryAfterMs: 7000 })
  })

t.test('destinations that are refused', async (t) => {
  const K = 'access-key-id=a&secret-access-key=b'
  const REFUSED: [destination: string, message: RegExp][] = [
    ['s3://logs', /parameter region is required/],
    ['s3://logs?region=evil.example/', /region/],
    ['s3://logs?region=us-east-1&region=us-east-2', /duplicate parameter region/],
    ['s3://logs?region=us-east-1&access-key-id=a', /both/],
    ['s3://logs?region=us-east-1&sse=aws:kms', /sse/],
    ['s3://logs?region=us-east-1&endpoint=minio.example', /endpoint and needs access-key-id/],
    [`s3://logs?region=us-east-1&${K}&endpoint=http://minio.example`, /endpoint without TLS/],
    [`s3://logs?region=us-east-1&${K}&endpoint=minio.example/path`, /more than a host/],
    [`s3://logs?region=us-east-1&${K}&endpoint=a:b@minio.example`, /more than a host/],
    [`s3://logs:99?region=us-east-1`, /port/],
    [`s3://a:b@logs?region=us-east-1`, /user name/],
    [`s3://-?region=us-east-1`, /bucket name/],
    [`s3://logs/{HOUR}?region=us-east-1`, /placeholder/],
    [`s3://logs/a%00b?region=us-east-1`, /control/],
    [`s3://logs/a%2f..%2fb?region=us-east-1`, /dots/],
    [`s3://logs/%ff?region=us-east-1`, /malformed percent-encoding in its path/],
    [`s3://logs?region=us-east-1&secret-access-key=ab&Cd3=`, /^\/ has an unknown parameter$/],
    [`s3://logs?region=us-east-1&acces-key-id=ab`, /unknown parameter acces-key-id; did you mean access-key-id\?$/],
    [`r2://logs?${K}`, /account-id/],
    [`r2://logs?account-id=${'a'.repeat(32)}`, /needs access-key-id/],
    [`r2://logs?account-id=evil.example&${K}`, /account-id/],
    [`r2://logs?account-id=${'a'.repeat(32)}&jurisdiction=x&${K}`, /jurisdiction/],
    ['gs://logs', /needs access-key-id/],
  ]
  const deps = sinkDeps({ allowPlainHttp: false })
  const types = new Map([s3, r2, gs].map((type) => [type.scheme, type]))
  for (const [destination, message] of REFUSED) {
    const url = new URL(destination)
    const check = () => types.get(url.protocol.slice(0, -1))?.check(url, deps)
    t.throws(check, { name: 'InvalidInput', message, issues: [{ pointer: '' }] }, destination)
  }
})

t.test('who has to prove that a bucket is theirs', async (t) => {
  const K = 'access-key-id=a&secret-access-key=b'
  t.equal(s3.ownership?.(new URL('s3://logs/a?region=us-east-1')), true)
  t.equal(s3.ownership?.(new URL(`s3://logs/a?region=us-east-1&${K}`)), false)
  t.equal(s3.ownership?.(new URL(`s3://logs/a?region=us-east-1&${K}&endpoint=minio.example`)), false)
  t.equal(gs.ownership?.(new URL('gs://logs/a')), true)
  t.equal(gs.ownership?.(new URL(`gs://logs/a?${K}`)), false)
  t.equal(r2.ownership, undefined)
})
