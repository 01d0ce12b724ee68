import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import Cloudflare from 'cloudflare'
import t, { type Test } from 'tap'
import { testFolder, textsBelow } from '../helpers/folder.js'
import { httpReceiver } from '../helpers/http-receiver.js'
import { KEYS, s3Fake } from '../helpers/s3-fake.js'
import { CA_FILE } from '../helpers/tls.js'
import { until } from '../helpers/web.js'
import { configuration, startDaemon, TOKEN, unbuilt, ZONE } from './daemon.js'

const zone = { zone_id: ZONE }
const FIELDS = ['RayID', 'EdgeStartTimestamp', 'EdgeResponseStatus']

/** A daemon that may write below a folder `out`, and the official client for its API. */
async function withFiles(t: Test) {
  const folder = testFolder(t)
  const out = join(folder, 'out')
  await mkdir(out)
  const config = configuration('http://127.0.0.1:1', { logpush: { destinations: { allow_file_under: [out] } } })
  const daemon = await startDaemon(t, config, folder)
  return { out, daemon, cf: new Cloudflare({ apiToken: TOKEN, baseURL: daemon.control, maxRetries: 0 }) }
}

t.test(
  'the official client makes a job, and records that come in reach its files',
  { skip: unbuilt, timeout: 600_000 },
  async (t) => {
    const { out, daemon, cf } = await withFiles(t)

    const destination_conf = `file://${out}/logs`
    const verdict = await cf.logpush.validate.destination({ ...zone, destination_conf })
    t.match(verdict, { valid: true })
    const job = await cf.logpush.jobs.create({
      ...zone,
      destination_conf,
      name: 'files',
      enabled: true,
      filter: '{"where":{"key":"EdgeResponseStatus","operator":"geq","value":500}}',
      output_options: { field_names: FIELDS, timestamp_format: 'rfc3339ns' },
      max_upload_records: 1000,
    })
    t.match(job, { id: 1, dataset: 'http_requests', enabled: true, destination_conf, error_message: null })
    t.match(await cf.logpush.validate.destinationExists({ ...zone, destination_conf }), { exists: true })
    t.match(await cf.logpush.datasets.fields.get('http_requests', zone), { RayID: 'string' })
    const listed = []
    for await (const one of cf.logpush.jobs.list(zone)) listed.push(one)
    t.same(listed, [job])

    const record = (at: number) =>
      `{"RayID":"${at}","EdgeResponseStatus":${at % 2 ? 503 : 200},"EdgeStartTimestamp":1506702504433000200}`
    const sent = await fetch(`${daemon.control}/zones/${ZONE}/edged/records/http_requests`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-encoding': 'gzip' },
      body: gzipSync(Array.from({ length: 2000 }, (_, at) => record(at)).join('\n')),
    })
    t.match(await sent.json(), { result: { accepted: 2000, rejected: [] } })
    t.equal(sent.status, 202)
    await until(async () => (await textsBelow(out)).join('').split('\n').length > 1000)
    const lines = (await textsBelow(out))
      .join('')
      .split('\n')
      .filter((line) => line.startsWith('{"RayID'))
    t.equal(lines.length, 1000)
    t.equal(lines[0], '{"RayID":"1","EdgeStartTimestamp":"2017-09-29T16:28:24.433000200Z","EdgeResponseStatus":503}')
    await until(async () => (await cf.logpush.jobs.get(1, zone))?.last_complete !== null)

    t.match(await cf.logpush.jobs.update(1, { ...zone, enabled: false }), { enabled: false, name: 'files' })
    t.match(await cf.logpush.jobs.delete(1, zone), { id: 1 })
  },
)

/** Numbers that a detour over floating point would change, in value or in words. */
const NUMBERS = [
  '1506702504433000200',
  '9007199254740993',
  '9223372036854775807',
  '18446744073709551615',
  '-9223372036854775808',
  '123456789012345678901234567890',
  '0.1',
  '0.10',
  '-0',
  '-0.0',
  '1e21',
  '1E+2',
  '1e-7',
  '5e-324',
  '1.7976931348623157e308',
  '1e400',
]

t.test(
  'numbers reach the file with the digits that they came in with',
  { skip: unbuilt, timeout: 600_000 },
  async (t) => {
    const { out, daemon, cf } = await withFiles(t)
    const field_names = [
      'EdgeStartTimestamp',
      'EdgeEndTimestamp',
      'ClientASN',
      'EdgeResponseCompressionRatio',
      'BotDetectionIDs',
      'RequestHeaders',
    ]
    for (const output_type of ['ndjson', 'csv'] as const)
      await cf.logpush.jobs.create({
        ...zone,
        destination_conf: `file://${out}/${output_type}`,
        enabled: true,
        max_upload_records: 1000,
        output_options: { output_type, field_names },
      })

    const MOST = 18_446_744_073_709_551_615n
    const records = Array.from({ length: 1000 }, (_, at) => {
      const [start, end] = [1_506_702_504_433_000_200n + BigInt(at), MOST - BigInt(at)]
      const number = NUMBERS[at % NUMBERS.length]!
      return {
        ndjson: `{"EdgeStartTimestamp":${start},"EdgeEndTimestamp":${end},"ClientASN":${number},"EdgeResponseCompressionRatio":${number},"BotDetectionIDs":[${number}],"RequestHeaders":{"n":${number}}}`,
        csv: `${start},${end},${number},${number},"[${number}]","{""n"":${number}}"`,
      }
    })
    const of = (from: number, to: number) => records.slice(from, to).map(({ ndjson }) => ndjson)
    const bodies: [body: string | Buffer, type: string][] = [
      [of(0, 400).join('\n'), 'application/x-ndjson'],
      [`[${of(400, 700).join(',')}]`, 'application/json'],
      [gzipSync(of(700, 850).join('\r\n')), 'application/x-ndjson'],
      [gzipSync(`[\n${of(850, 1000).join(' ,\n')} ]`), 'application/json'],
    ]
    for (const [body, type] of bodies) {
      const sent = await fetch(`${daemon.control}/zones/${ZONE}/edged/records/http_requests`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${TOKEN}`,
          'content-type': type,
          ...(typeof body !== 'string' && { 'content-encoding': 'gzip' }),
        },
        body,
      })
      t.match(await sent.json(), { result: { rejected: [] } })
      t.equal(sent.status, 202)
    }
    for (const type of ['ndjson', 'csv'] as const) {
      await until(async () => (await textsBelow(join(out, type))).length > 0)
      const want = records.map((record) => `${record[type]}\n`).join('')
      t.ok((await textsBelow(join(out, type))).join('') === want, `${type}, byte for byte`)
    }
  },
)

t.test('credentials of destinations are stored encrypted only', { skip: unbuilt, timeout: 600_000 }, async (t) => {
  const folder = testFolder(t)
  const daemon = await startDaemon(t, configuration('http://127.0.0.1:1'), folder)
  const cf = new Cloudflare({ apiToken: TOKEN, baseURL: daemon.control, maxRetries: 0 })
  const destination_conf = 'https://192.0.2.1/in?header_Authorization=Bearer%20hunter2hunter2'
  await t.rejects(cf.logpush.jobs.create({ ...zone, destination_conf }), { status: 400, errors: [{ code: 1002 }] })
  t.match(await cf.logpush.validate.destination({ ...zone, destination_conf }), { valid: false })
  daemon.signal('SIGTERM')
  t.equal(await daemon.ended, 0)
  t.notMatch((await textsBelow(join(folder, 'data'))).join(''), 'hunter2')
  t.notMatch(daemon.lines.join('\n'), 'hunter2')
})

t.test(
  'jobs deliver with credentials that stand nowhere in the clear',
  { skip: unbuilt, timeout: 600_000 },
  async (t) => {
    const folder = testFolder(t)
    const [receiver, bucket] = [await httpReceiver(t), await s3Fake(t)]
    const config = configuration('http://127.0.0.1:1', {
      egress: {
        allow_cidrs: [receiver.port, bucket.port].map((port) => `127.0.0.1/32:${port}`),
        ca_file: CA_FILE,
        resolver_overrides: { 'receiver.test': ['127.0.0.1'] },
      },
      logpush: { destinations: { allow_plain_http: true } },
      log: { level: 'debug' },
    })
    const daemon = await startDaemon(t, config, folder)
    const cf = new Cloudflare({ apiToken: TOKEN, baseURL: daemon.control, maxRetries: 0 })
    const keys = `access-key-id=${KEYS.id}&secret-access-key=${encodeURIComponent(KEYS.secret)}`
    const places = [
      `https://${receiver.host}/in?header_Authorization=Bearer%20hunter2hunter2`,
      `s3://logs/edge?region=us-east-1&${keys}&endpoint=http://127.0.0.1:${bucket.port}`,
    ]
    for (const destination_conf of places)
      await cf.logpush.jobs.create({
        ...zone,
        destination_conf,
        enabled: true,
        max_upload_records: 1000,
        output_options: { field_names: ['RayID'] },
      })
    // The first attempts fail: what is said about them is no different.
    receiver.fault = { status: 503, body: 'no hunter2hunter2' }
    bucket.fault = () => ({ status: 503, code: 'SlowDown' })
    const text = Array.from({ length: 1000 }, (_, at) => `{"RayID":"${at}"}\n`).join('')
    const sent = await fetch(`${daemon.control}/zones/${ZONE}/edged/records/http_requests`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}` },
      body: text,
    })
    t.equal(sent.status, 202)
    const failing = async () =>
      (await Promise.all([1, 2].map(async (id) => await cf.logpush.jobs.get(id, zone)))).map(
        (job) => job?.error_message,
      )
    await until(async () => (await failing()).every(Boolean))
    const messages = (await failing()).join('\n')
    receiver.fault = undefined
    bucket.fault = () => undefined
    const objects = () => [...bucket.objects].filter(([name]) => name.endsWith('.log.gz'))
    await until(() => receiver.accepted.some(({ text: found }) => found === text) && objects().length > 0)
    t.equal(receiver.accepted.at(-1)?.headers.authorization, 'Bearer hunter2hunter2')
    t.equal(gunzipSync(objects()[0]![1].body).toString(), text)
    await until(async () => (await failing()).every((message) => message === null))
    daemon.signal('SIGTERM')
    t.equal(await daemon.ended, 0)
    const kept = [...(await textsBelow(join(folder, 'data'))), ...daemon.lines, messages].join('\n')
    for (const secret of ['hunter2', KEYS.id, KEYS.secret, encodeURIComponent(KEYS.secret)])
      t.notOk(kept.includes(secret), 'a credential in the data folder, the log or a message')
  },
)
