import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { t } from 'tap'
import { azure } from '../../sinks/azure.js'
import { kinesis } from '../../sinks/kinesis.js'
import type { SinkType } from '../../sinks/contract/sink-type.js'
import { azurite, NO_AZURITE, sas } from '../helpers/azurite.js'
import { blobFake } from '../helpers/blob-fake.js'
import { openEgress } from '../helpers/egress.js'
import { httpReceiver } from '../helpers/http-receiver.js'
import { kinesisFake } from '../helpers/kinesis-fake.js'
import { KEYS } from '../helpers/s3-fake.js'
import { batchOf, depsFor, never, sinkDeps, unzipped } from '../helpers/sink-deps.js'
import { CA_FILE } from '../helpers/tls.js'

/** A request of the owner of a container. */
async function owner(method: string, url: string): Promise<{ status: number; body: Buffer }> {
  const asked = request(url, {
    method,
    ca: readFileSync(CA_FILE),
    agent: false,
    headers: { 'content-length': '0' },
  }).end()
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  const body = Buffer.concat((await response.toArray()) as Buffer[])
  return { status: response.statusCode ?? 0, body }
}

t.test('a real Azure emulator', { skip: NO_AZURITE }, async (t) => {
  const { port, base } = await azurite(t)
  t.equal((await owner('PUT', `https://${base}/logs?restype=container&${sas('c', 'c')}`)).status, 201)
  const deps = await depsFor([port])
  const sink = azure.open(new URL(`azure://${base}/logs/a%20b/{DATE}?${sas('o', 'w')}`), deps)
  t.teardown(() => sink.close())

  await sink.check(never)
  await sink.write(batchOf('{"a":1}\n', 'gzip', { name: 'small' }), never)
  await sink.write(batchOf('{"a":2}\n', 'gzip', { name: 'small' }), never)
  const bytes = randomBytes(18 * 1024 * 1024)
  const large = batchOf(bytes, 'gzip', { name: 'large' })
  await sink.write(large, never)
  t.equal(
    await sink.put?.('ownership-challenge.txt', 'token', never),
    'devstoreaccount1/logs/a b/20261121/ownership-challenge.txt',
  )

  const read = async (name: string) =>
    await owner('GET', `https://${base}/logs/a%20b/20261121/${name}?${sas('o', 'r')}`)
  t.equal(unzipped((await read('small.log.gz')).body), '{"a":2}\n', 'again: replaced')
  t.ok((await read('large.log.gz')).body.equals(await large.body.bytes()))
  t.equal(String((await read('ownership-challenge.txt')).body), 'token')
  t.equal(unzipped((await read('test.txt.gz')).body), '{"content":"tests"}')

  const wrong = azure.open(new URL(`azure://${base}/logs?${sas('o', 'w').replace(/sig=..../, 'sig=AAAA')}`), deps)
  t.teardown(() => wrong.close())
  await t.rejects(wrong.check(never), {
    failure: 'refused',
    message: `127.0.0.1:${port} responded with 403 AuthorizationFailure`,
  })
  const missing = azure.open(new URL(`azure://${base}/none?${sas('o', 'w')}`), deps)
  t.teardown(() => missing.close())
  await t.rejects(missing.check(never), {
    failure: 'refused',
    message: `127.0.0.1:${port} responded with 404 ContainerNotFound`,
  })
})

t.test('large blobs are put in blocks, and again from the first one', async (t) => {
  const fake = blobFake('x')
  let blocks = 0
  const receiver = await httpReceiver(t, {
    response: (request) => {
      if (request.target.includes('comp=block&') && ++blocks === 2)
        return { status: 503, headers: { 'x-ms-error-code': 'ServerBusy', 'retry-after': '3' } }
      return fake.response(request)
    },
  })
  const sink = azure.open(
    new URL(`azure://${receiver.host}/logs?sig=x`),
    sinkDeps({ egress: await openEgress([receiver.server]) }),
  )
  t.teardown(() => sink.close())
  const large = batchOf(randomBytes(20 * 1024 * 1024), 'gzip', { name: 'large' })
  await t.rejects(sink.write(large, never), {
    failure: 'transient',
    retryAfterMs: 3000,
    message: /responded with 503 ServerBusy$/,
  })
  t.equal(fake.blobs.size, 0)
  await sink.write(large, never)
  t.ok(fake.blobs.get('/logs/large.log.gz')?.equals(Buffer.from(await large.body.bytes())))
})

t.test('kinesis', async (t) => {
  const fake = kinesisFake(KEYS.id, KEYS.secret)
  const receiver = await httpReceiver(t, { response: fake.response })
  const egress = await openEgress([receiver.server])
  const keys = `access-key-id=${KEYS.id}&secret-access-key=${KEYS.secret}`
  const to = (stream: string, rest = '', now = Date.parse('2026-11-21T12:00:00Z')) => {
    const deps = sinkDeps({ egress })
    const clock = { ...deps.clock, now: () => now }
    const url = new URL(`kinesis://${stream}?region=eu-west-1&${keys}&endpoint=${receiver.host}${rest}`)
    const sink = kinesis.open(url, { ...deps, clock })
    t.teardown(() => sink.close())
    return sink
  }

  await t.test('gets one record per batch, under its name', async (t) => {
    await to('logs').write(batchOf('{"a":1}\n', 'gzip', { name: 'one' }), never)
    t.strictSame(fake.records, [{ key: 'one', text: '{"a":1}\n' }])
  })

  await t.test('a role is assumed once, with the keys of the destination', async (t) => {
    const role = '&sts-assume-role-arn=arn:aws:iam::123456789012:role/edge/logs'
    const sink = to('logs', `${role}&sts-external-id=outside`)
    await sink.write(batchOf('{"a":1}\n', 'gzip'), never)
    await sink.write(batchOf('{"a":2}\n', 'gzip'), never)
    t.equal(fake.asked.length, 1)
    t.match(Object.fromEntries(fake.asked[0] ?? []), {
      Action: 'AssumeRole',
      RoleArn: 'arn:aws:iam::123456789012:role/edge/logs',
      ExternalId: 'outside',
      RoleSessionName: 'edged',
    })
    const late = to('logs', `${role}&sts-external-id=outside`, Date.parse('2026-11-21T12:56:00Z'))
    await late.check(never)
    await late.check(never)
    t.equal(fake.asked.length, 3, 'keys that are about to end are not used again')
    await t.rejects(to('logs', role).check(never), {
      failure: 'refused',
      message: 'the role could not be assumed: 403 AccessDenied',
    })
  })

  await t.test('responses with 400 are distinguished', async (t) => {
    const host = receiver.host
    await t.rejects(to('none').check(never), {
      failure: 'refused',
      message: `${host} responded with 400 ResourceNotFoundException`,
    })
    for (const [code, failure] of [
      ['ProvisionedThroughputExceededException', 'transient'],
      ['com.amazonaws.kinesis#LimitExceededException', 'transient'],
      ['AccessDeniedException', 'refused'],
    ] as const) {
      receiver.fault = { status: 400, body: JSON.stringify({ __type: code }) }
      await t.rejects(to('logs').check(never), { name: 'SinkError', failure }, code)
    }
    receiver.fault = undefined
  })

  await t.test('a record that is too large is not sent', async (t) => {
    const large = batchOf(randomBytes(1_100_000), 'gzip')
    await t.rejects(to('logs').write(large, never), { name: 'SinkError', failure: 'too_large' })
  })
})

t.test('destinations that are refused', async (t) => {
  const K = 'access-key-id=a&secret-access-key=b'
  const REFUSED: [destination: string, message: RegExp][] = [
    ['azure://acct.example/logs', /no signature/],
    ['azure://acct.example?sig=a', /container name/],
    ['azure://acct.example/Logs?sig=a', /container name/],
    ['azure:///logs?sig=a', /no host/],
    ['azure://a:b@acct.example/logs?sig=a', /user name/],
    ['azure://acct.example/logs?sig=a&srt=sco', /signedResourceTypes must be Object only \(srt=o\)/],
    ['azure://acct.example/logs?sig=a&ss=q', /ss=b/],
    ['azure://acct.example/logs?sig=a&sp=rl', /sp=w/],
    ['azure://acct.example/logs/{HOUR}?sig=a', /placeholder/],
    [`kinesis://logs?${K}`, /parameter region/],
    ['kinesis://logs?region=us-east-1', /needs access-key-id/],
    [`kinesis://lo%20gs?region=us-east-1&${K}`, /stream name/],
    [`kinesis://logs/path?region=us-east-1&${K}`, /path/],
    ['kinesis://logs?region=us-east-1&sts-assume-role-arn=arn:aws:iam::1:role/a', /not the ARN of a role/],
    [`kinesis://logs?region=us-east-1&${K}&sts-external-id=abc`, /which needs sts-assume-role-arn/],
    [
      'kinesis://logs?region=us-east-1&sts-assume-role-arn=arn:aws:iam::123456789012:role/a&endpoint=a.example',
      /endpoint and needs access-key-id/,
    ],
    [`kinesis://logs?region=us-east-1&${K}&endpoint=http://a.example`, /endpoint without TLS/],
  ]
  const deps = sinkDeps({ allowPlainHttp: false })
  const types = new Map<string, SinkType>([azure, kinesis].map((type) => [type.scheme, type]))
  for (const [destination, message] of REFUSED) {
    const url = new URL(destination)
    const check = () => types.get(url.protocol.slice(0, -1))?.check(url, deps)
    t.throws(check, { name: 'InvalidInput', message, issues: [{ pointer: '' }] }, destination)
  }
  t.equal(azure.ownership?.(new URL('azure://acct.example/logs?sig=a')), true)
})
