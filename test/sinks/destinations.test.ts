import { readFile } from 'node:fs/promises'
import t from 'tap'
import { InvalidInput } from '../../src/core/errors.js'
import {
  checkDestination,
  destinationKey,
  needsOwnership,
  openSink,
  parseDestination,
  redact,
  SINKS,
} from '../../sinks/index.js'
import { destinationSchemas, destinationTable } from '../../sinks/manual.js'
import { openEgress, testEgress } from '../helpers/egress.js'
import { httpReceiver, type Received, type ReceiverResponse } from '../helpers/http-receiver.js'
import { batchOf, depsFor, sinkDeps } from '../helpers/sink-deps.js'
import type { SinkDeps } from '../../sinks/contract/sink-type.js'
import { CA_FILE } from '../helpers/tls.js'

const patient = new AbortController().signal
const strict = sinkDeps({ allowPlainHttp: false, allowStdout: false })

t.test('each kind of destination has its own scheme', async (t) => {
  for (const [scheme, type] of SINKS) {
    t.equal(type.scheme, scheme)
    t.equal(parseDestination(`${scheme}://a/b`).type, type)
    t.equal(parseDestination(`${scheme.toUpperCase()}://a/b`).type, type)
  }
})

t.test('the documentation has the table of destinations that the schemas print', async (t) => {
  const page = await readFile('docs/logpush.md', 'utf8')
  const [, printed = ''] = /<!-- destinations -->\n([^]*)<!-- \/destinations -->/.exec(page) ?? []
  // Without the padding of the columns.
  const plain = (table: string) => table.trim().replaceAll(/ {2,}/g, ' ').replaceAll(/-{3,}/g, '---')
  t.equal(plain(printed), plain(destinationTable(SINKS.values())))
})

t.test('every parameter has a description, and a misspelt one is recognized', async (t) => {
  const { properties } = destinationSchemas(SINKS.values()) as {
    properties: Record<string, { properties: Record<string, { description?: string }> }>
  }
  t.strictSame(Object.keys(properties), [...SINKS.keys()])
  for (const [scheme, schema] of Object.entries(properties))
    for (const [name, { description }] of Object.entries(schema.properties))
      t.match(description, /^.+\.$/, `${scheme} ${name}`)
  t.throws(() => checkDestination('s3://logs?region=us-east-1&acces-key-id=a', strict), /did you mean access-key-id\?/)
  const other = () => checkDestination('s3://logs?region=us-east-1&ACCESS_KEY_ID=hunter2', strict)
  t.throws(other, /^\/ has an unknown parameter; did you mean access-key-id\?$/)
  t.throws(
    () => checkDestination('kinesis://a?region=b&STS_ASSUME_ROLE_ARN=c', strict),
    /did you mean sts-assume-role-arn\?/,
  )
})

const REFUSED: [conf: string, message: RegExp][] = [
  ['', /^must begin with one of .*https:/],
  ['gopher://a/', /^must begin with one of/],
  ['a.test/path', /^must begin with one of/],
  ['https://a.test/ b', /white space/],
  ['https://a.test\\b', /backslash/],
  ['https://a.test/#b', /%23/],
  ['https://[::1/', /is not a URL/],
  ['splunk://', /path|host|URL/],
  [`https://a.test/${'a'.repeat(4096)}`, /longer than 4096/],
  ['https://a.test:0/', /port 0/],
  ['http://a.test/', /must use TLS/],
  ['https://a.test/?header_=a', /malformed name/],
  ['https://a.test/?header_a%20b=c', /malformed name/],
  ['https://a.test/?header_Host=b', /header host/],
  ['https://a.test/?header_Content-Length=1', /header content-length/],
  ['https://a.test/?header_Proxy-Authorization=1', /header proxy-authorization/],
  ['https://a.test/?header_A=1&header_a=2', /duplicate header a/],
  ['https://a.test/?header_A=b%0d%0aC:d', /character/],
  ['https://a.test/?header_A=%E2%82%AC', /character/],
  ['https://a.test/?header_A=%', /percent-encoding/],
  ['https://u:p@a.test/?header_Authorization=b', /credentials and header_Authorization/],
  ['splunk://a.test:8088/services/collector/event?header_Authorization=a', /must have the path/],
  ['splunk://a.test:8088/services/collector/raw', /needs header_Authorization/],
  [
    'splunk://a.test/services/collector/raw?insecure-skip-verify=true&header_Authorization=a',
    /must not have insecure-skip-verify/,
  ],
  [
    'splunk://a.test/services/collector/raw?insecure-skip-verify=1&header_Authorization=a',
    /insecure-skip-verify must be true or false/,
  ],
  ['splunk://a.test/services/collector/raw?insecure-skip-verify=&insecure-skip-verify=true', /duplicate parameter/],
  ['sentinelone://a.test/services/collector/raw', /needs header_Authorization/],
  ['ibmcl://a.test/logs?ibm_api_key=k', /must have the path \/logs\/v1\/singles/],
  ['ibmcl://a.test/logs/v1/singles', /parameter ibm_api_key is required/],
  ['ibmcl://a.test/logs/v1/singles?ibm_api_key=k&iam_endpoint=http://b.test', /endpoint without TLS/],
  ['newrelic://a.test/log/v1?format=cloudflare', /needs Api-Key/],
  ['datadog://a.test/api/v2/logs', /needs header_DD-API-KEY/],
  ['elasticsearch://a.test:9200/', /needs an index/],
  ['elasticsearch://a.test:9200/logs?tls=false', /must use TLS/],
  ['loki://a.test/?labels=a', /name:value/],
  ['loki://a.test/?labels=1a:b', /name:value/],
  ['bq://projects/p/datasets/d', /must be bq:/],
  ['bq://projects/p/datasets/d/tables/t', /parameter credentials is required/],
  ['bq://projects/p/datasets/d/tables/t?credentials=e30=', /neither base64: nor url:/],
  ['bq://projects/p/datasets/d/tables/t?credentials=base64:e30=', /not a key of a service account/],
  [
    'bq://projects/p/datasets/d/tables/t?credentials=url:%7B%22private_key%22:%22k%22%7D',
    /not a key of a service account/,
  ],
  ['stdout:', /pipeline files/],
]

t.test('what is no destination, or not allowed, is refused with the reason and without its values', async (t) => {
  for (const [conf, message] of REFUSED) {
    t.throws(() => checkDestination(conf, strict), { name: 'InvalidInput', issues: [{ pointer: '', message }] }, conf)
    t.throws(() => openSink(conf, strict), InvalidInput)
  }
  checkDestination(
    'splunk://a.test/services/collector/raw?insecure-skip-verify=true&header_Authorization=a',
    sinkDeps(),
  )
  checkDestination('elasticsearch://a.test:9200/logs?tls=false', sinkDeps())
  checkDestination('http://a.test/', sinkDeps())
})

const REDACTED: [conf: string, shown: string][] = [
  ['https://a.test/p?header_X-Key=a&ddsource=b&q=c', 'https://a.test/p?header_X-Key=***&ddsource=b&q=***'],
  ['https://a.test/p?header_A=x&y&z=1=2', 'https://a.test/p?header_A=***&***&z=***'],
  ['https://a.test/p?Api-Key=a&format=cloudflare', 'https://a.test/p?Api-Key=***&format=cloudflare'],
  ['https://user:pass@word@a.test/p', 'https://***@a.test/p'],
  ['https://a.test/p?%68eader_A=b', 'https://a.test/p?%68eader_A=***'],
  ['https://a.test/p?%=b', 'https://a.test/p?%=***'],
  ['sumo://collector.test/receiver/v1/http/TOKEN', 'sumo://collector.test/***'],
  [
    'datadog://a.test/v1/input?header_DD-API-KEY=a&ddtags=b',
    'datadog://a.test/v1/input?header_DD-API-KEY=***&ddtags=b',
  ],
  [
    's3://b/p?region=r&access-key-id=a&secret-access-key=b&endpoint=e',
    's3://b/p?region=r&access-key-id=***&secret-access-key=***&endpoint=e',
  ],
  [
    'ibmcl://a.test/logs/v1/singles?ibm_api_key=k&iam_endpoint=b.test',
    'ibmcl://a.test/logs/v1/singles?ibm_api_key=***&iam_endpoint=b.test',
  ],
  ['s3://b/p?access_key_id=a', 's3://b/p?access_key_id=***'],
  ['kafka://a.test/t?key=/user/id&password=p', 'kafka://a.test/t?key=/user/id&password=***'],
  ['redis://a.test/t?key=a', 'redis://a.test/t?key=***'],
  ['gopher://user:pass@a.test/', '***'],
  ['secret', '***'],
  ['', '***'],
]

t.test('secrets of a destination are hidden', async (t) => {
  for (const [conf, shown] of REDACTED) t.equal(redact(conf), shown)
})

t.test('destinations of one host or bucket share a key, and some need a challenge', async (t) => {
  t.equal(destinationKey('https://A.test:8443/b?c=d'), 'https://a.test:8443')
  t.equal(destinationKey('https://A.test/b?c=d'), destinationKey('https://a.test:443/e'))
  t.equal(destinationKey('s3://Bucket/path?region=r'), 's3://bucket')
  t.equal(destinationKey('splunk://H.test:8088/services'), 'splunk://h.test:8088')
  t.equal(needsOwnership('sumo://a.test/b'), true)
  t.equal(needsOwnership('https://a.test/b'), false)
  t.throws(() => needsOwnership('gopher:'), InvalidInput)
})

t.test('a post has the headers of the destination over the usual ones, and the name of its batch', async (t) => {
  const receiver = await httpReceiver(t)
  const deps = sinkDeps({ egress: await openEgress([receiver.server]) })
  const sink = openSink(`https://${receiver.host}/?header_Content-Type=application%2Fx-ndjson&header_X-A=b+c%2B`, deps)
  t.teardown(() => sink.close())
  t.match(sink, { encoding: 'gzip', limits: {}, daily: false })
  await sink.write(batchOf('{"a":1}\n', 'gzip', { name: 'one' }), patient)
  await sink.check(patient)
  t.match(receiver.accepted, [
    {
      method: 'POST',
      target: '/',
      text: '{"a":1}\n',
      headers: {
        'content-type': 'application/x-ndjson',
        'content-encoding': 'gzip',
        'user-agent': /^edged\//,
        'idempotency-key': 'one',
        'x-a': 'b c+',
      },
    },
    { text: '{"content":"tests"}', headers: { 'content-disposition': /filename="test.txt.gz"/ } },
  ])
})

t.test('http is spoken without TLS where the operator allows it', async (t) => {
  const receiver = await httpReceiver(t, { tls: false })
  const sink = openSink(`http://${receiver.host}/`, sinkDeps({ egress: await openEgress([receiver.server]) }))
  t.teardown(() => sink.close())
  await sink.write(batchOf('a\n', 'gzip'), patient)
  t.match(receiver.accepted, [{ text: 'a\n', headers: { 'content-type': 'text/plain; charset=utf-8' } }])
})

t.test('a certificate of an unknown authority is accepted only if the destination allows it', async (t) => {
  const receiver = await httpReceiver(t)
  const egress = await openEgress([receiver.server])
  const conf = `splunk://127.0.0.1:${receiver.port}/services/collector/raw?header_Authorization=a`
  const careless = openSink(`${conf}&insecure-skip-verify=true`, sinkDeps({ egress }))
  const other = await testEgress({
    allow_cidrs: [`127.0.0.1/32:${receiver.port}`],
    ca_file: CA_FILE,
    resolver_overrides: { 'other.test': ['127.0.0.1'] },
  })
  const careful = openSink(conf.replace('127.0.0.1', 'other.test'), sinkDeps({ egress: other }))
  t.teardown(async () => await Promise.all([careless.close(), careful.close()]))
  await careless.write(batchOf('a\n', 'gzip'), patient)
  const failure = { failure: 'transient', message: /could not be reached: ERR_TLS_CERT_ALTNAME_INVALID/ }
  await t.rejects(careful.write(batchOf('a\n', 'gzip'), patient), failure)
})

t.test('a redirect is not followed, and an endless response is not read', async (t) => {
  const inside = await httpReceiver(t)
  const replies: ReceiverResponse[] = [
    { status: 302, headers: { location: `https://${inside.host}/` } },
    { status: 500, body: 'x'.repeat(10_000_000) },
    { status: 200, body: 'x'.repeat(10_000_000) },
  ]
  const receiver = await httpReceiver(t, { response: () => replies.shift()! })
  const egress = await openEgress([receiver.server, inside.server])
  const sink = openSink(`https://${receiver.host}/`, sinkDeps({ egress }))
  t.teardown(() => sink.close())
  const batch = batchOf('a\n', 'gzip')
  await t.rejects(sink.write(batch, patient), { failure: 'refused', message: /responded with 302, and redirects/ })
  await t.rejects(sink.write(batch, patient), { failure: 'transient', message: /responded with 500$/ })
  await sink.write(batch, patient)
  t.equal(inside.accepted.length, 0)
})

t.test('a collector gets the ownership challenge as a message', async (t) => {
  const receiver = await httpReceiver(t)
  const sink = openSink(`sumo://${receiver.host}/t`, sinkDeps({ egress: await openEgress([receiver.server]) }))
  t.teardown(() => sink.close())
  t.equal(await sink.put?.('ownership-challenge.txt', 'a.b.c', patient), 'ownership-challenge.txt')
  t.match(receiver.accepted, [{ text: 'a.b.c', target: '/t' }])
})

t.test('text that is no JSON reaches those who want JSON in a form that they take', async (t) => {
  const seen: Received[] = []
  const receiver = await httpReceiver(t, {
    response(request) {
      seen.push(request)
      return { status: 200, body: '{"errors":false}' }
    },
  })
  const deps = sinkDeps({ egress: await openEgress([receiver.server]) })
  const datadog = openSink(`datadog://${receiver.host}/v1/input?header_DD-API-KEY=k`, deps)
  const elastic = openSink(`elasticsearch://${receiver.host}/i`, deps)
  t.teardown(async () => await Promise.all([datadog.close(), elastic.close()]))
  for (const text of ['"a",1\n"b",2\n', '[{"a":1},{"a":2}]']) await datadog.write(batchOf(text, 'identity'), patient)
  await elastic.write(batchOf('"a",1\n\n{"b":2}\n', 'identity', { name: 'n' }), patient)
  t.match(
    seen.map(({ text, headers }) => [headers['content-type'], text]),
    [
      ['text/plain; charset=utf-8', '"a",1\n"b",2'],
      ['application/json', '[{"a":1},{"a":2}]'],
      [
        'application/x-ndjson',
        '{"create":{"_id":"n-0"}}\n{"message":"\\"a\\",1"}\n{"create":{"_id":"n-1"}}\n{"b":2}\n',
      ],
    ],
  )
})

t.test(
  'a destination without TLS at a private address names everything that the operator writes, at once',
  async (t) => {
    const deps = await depsFor([9001], { allowPlainHttp: false })
    const ENTRIES: [conf: string, more: string][] = [
      ['http://127.0.0.1:9000/in', ': true, and with egress.allow_cidrs: ["127.0.0.1/32:9000"]'],
      ['http://127.0.0.1/in', ': true, and with egress.allow_cidrs: ["127.0.0.1/32:80"]'],
      ['http://[fd00::1]:9000/in', ': true, and with egress.allow_cidrs: ["[fd00::1/128]:9000"]'],
      ['http://127.0.0.1:9001/in', ''],
      ['http://receiver.test:9000/in', ''],
      ['syslog://10.0.0.1?tls=false', ': true, and with egress.allow_cidrs: ["10.0.0.1/32:601"]'],
      ['redis://10.0.0.1?stream=a', ': true, and with egress.allow_cidrs: ["10.0.0.1/32:6379"]'],
      [
        'kafka://10.0.0.1/logs?tls=false&brokers=10.0.0.2:9093',
        ': true, and with egress.allow_cidrs: ["10.0.0.1/32:9092","10.0.0.2/32:9093"]',
      ],
      [
        's3://bucket/logs?region=eu-central-1&access-key-id=a&secret-access-key=b&endpoint=http://10.0.0.1:9000',
        ': true, and with egress.allow_cidrs: ["10.0.0.1/32:9000"]',
      ],
    ]
    for (const [conf, more] of ENTRIES) {
      const advice = `the operator can allow it with logpush.destinations.allow_plain_http${more}`
      t.ok(issueOf(conf, deps).endsWith(advice), `${conf}: ${issueOf(conf, deps)}`)
    }
  },
)

function issueOf(conf: string, deps: SinkDeps): string {
  try {
    checkDestination(conf, deps)
    return ''
  } catch (error) {
    return error instanceof InvalidInput ? (error.issues[0]?.message ?? '') : String(error)
  }
}
