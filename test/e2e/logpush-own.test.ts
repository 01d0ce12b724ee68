import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import Cloudflare from 'cloudflare'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { parse } from 'yaml'
import { finding, instance, ndjson } from '../control/webhooks/helper.js'
import { testFolder, textsBelow } from '../helpers/folder.js'
import { httpReceiver } from '../helpers/http-receiver.js'
import { startOrigin } from '../helpers/proxy.js'
import { CA_FILE } from '../helpers/tls.js'
import { until } from '../helpers/web.js'
import { ACCOUNT, configuration, startDaemon, TOKEN, unbuilt, ZONE, type Daemon } from './daemon.js'

const options = { skip: unbuilt, timeout: 600_000 }
const zone = { zone_id: ZONE }
const account = { account_id: ACCOUNT }
const SECRET = 'hunter2hunter2'

async function put({ control }: Daemon, phase: string, rules: readonly object[]): Promise<void> {
  const response = await fetch(`${control}/zones/${ZONE}/rulesets/phases/${phase}/entrypoint`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ rules }),
  })
  if (!response.ok) throw new Error(await response.text())
}

/** Asks the proxy; gives the request's ray. */
async function visit({ proxy }: Daemon, path: string): Promise<string> {
  const headers = { host: 'example.test', 'user-agent': 'e2e', cookie: 'session=abc', 'x-asked': 'yes' }
  const response = await request(`${proxy}${path}`, { headers })
  await response.body.dump()
  return String(response.headers['cf-ray'])
}

const linesOf = (text: string): number => text.split('\n').length - 1

/** Waits until a job has read so many records. */
const read = async (daemon: Daemon, job: number, records: number): Promise<void> =>
  await until(async () => (await daemon.metric(`edged_logpush_records_read_total{job="${job}"}`)) === records)

async function origin(t: Test): Promise<string> {
  const { url } = await startOrigin(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain', 'x-backend': 'one' }).end('hello')
  })
  return url
}

t.test("the proxy's own records reach a file and an HTTPS collector, byte for byte", options, async (t) => {
  const folder = testFolder(t)
  const out = join(folder, 'out')
  await mkdir(out)
  const collector = await httpReceiver(t)
  const config = configuration(await origin(t), {
    logpush: { destinations: { allow_file_under: [out] } },
    egress: {
      allow_cidrs: [`127.0.0.1/32:${collector.port}`],
      ca_file: CA_FILE,
      resolver_overrides: { 'receiver.test': ['127.0.0.1'] },
    },
  })
  const daemon = await startDaemon(t, config, folder)
  const { jobs } = new Cloudflare({ apiToken: TOKEN, baseURL: daemon.control, maxRetries: 0 }).logpush

  await put(daemon, 'http_request_firewall_custom', [
    { action: 'log', expression: 'starts_with(http.request.uri.path, "/w")', description: 'Watched', ref: 'watch' },
    { action: 'block', expression: 'http.request.uri.path eq "/w/secret"', description: 'No "entry"', ref: 'gate' },
  ])
  await put(daemon, 'http_log_custom_fields', [
    {
      action: 'log_custom_field',
      expression: 'true',
      action_parameters: {
        request_fields: [{ name: 'x-asked' }],
        response_fields: [{ name: 'x-backend' }],
        cookie_fields: [{ name: 'session' }],
      },
    },
  ])
  await jobs.create({
    ...zone,
    dataset: 'http_requests',
    destination_conf: `file://${out}`,
    enabled: true,
    output_options: {
      field_names: [
        'RayID',
        'ClientRequestURI',
        'ClientRequestUserAgent',
        'EdgeResponseStatus',
        'OriginResponseStatus',
        'SecurityAction',
        'SecurityActions',
        'SecuritySources',
        'RequestHeaders',
        'ResponseHeaders',
        'Cookies',
        'BotScore',
        'ParentRayID',
        'WorkerSubrequest',
      ],
    },
  })
  await jobs.create({
    ...zone,
    dataset: 'firewall_events',
    destination_conf: `https://${collector.host}/in?header_Authorization=Bearer%20${SECRET}&tag=a`,
    enabled: true,
    output_options: {
      output_type: 'csv',
      field_names: ['RayID', 'Action', 'Ref', 'Description', 'MatchIndex', 'EdgeResponseStatus', 'Source'],
    },
  })
  const plain = await visit(daemon, '/?q=1')
  const watched = await visit(daemon, '/watched')
  const secret = await visit(daemon, '/w/secret')
  await read(daemon, 1, 3)
  await read(daemon, 2, 3)
  // What a job has read goes out when it is disabled.
  await jobs.update(1, { ...zone, enabled: false })
  await jobs.update(2, { ...zone, enabled: false })
  const written = async () => (await textsBelow(out)).join('')
  const collected = () =>
    collector.accepted
      .slice(1)
      .map(({ text }) => text)
      .join('')
  await until(async () => linesOf(await written()) === 3 && linesOf(collected()) === 3)

  const fields = '"RequestHeaders":{"x-asked":"yes"},"ResponseHeaders":{"x-backend":"one"},"Cookies":{"session":"abc"}'
  const last = '"BotScore":null,"ParentRayID":"00","WorkerSubrequest":false'
  const line = (ray: string, uri: string, judged: string, own = fields) =>
    `{"RayID":"${ray}","ClientRequestURI":"${uri}","ClientRequestUserAgent":"e2e",${judged},${own},${last}}\n`
  const log = '"SecurityActions":["log"],"SecuritySources":["firewallCustom"]'
  const expected =
    line(
      plain,
      '/?q=1',
      '"EdgeResponseStatus":200,"OriginResponseStatus":200,"SecurityAction":"","SecurityActions":[],"SecuritySources":[]',
    ) +
    line(watched, '/watched', `"EdgeResponseStatus":200,"OriginResponseStatus":200,"SecurityAction":"",${log}`) +
    line(
      secret,
      '/w/secret',
      '"EdgeResponseStatus":403,"OriginResponseStatus":0,"SecurityAction":"block",' +
        '"SecurityActions":["log","block"],"SecuritySources":["firewallCustom","firewallCustom"]',
      fields.replace('{"x-backend":"one"}', '{}'),
    )
  t.equal(await written(), expected)

  const [check, batch] = collector.accepted
  t.equal(check?.text, '{"content":"tests"}')
  t.equal(
    collected(),
    `"${watched}","log","watch","Watched",0,200,"firewallcustom"\n` +
      `"${secret}","log","watch","Watched",1,403,"firewallcustom"\n` +
      `"${secret}","block","gate","No ""entry""",0,403,"firewallcustom"\n`,
  )
  t.match(batch, { method: 'POST', target: '/in?tag=a', headers: { authorization: `Bearer ${SECRET}` } })

  // Of the time while a job is disabled there is nothing.
  await visit(daemon, '/unseen')
  await jobs.update(1, { ...zone, enabled: true })
  const seen = await visit(daemon, '/seen')
  await until(async () => (await daemon.metric('edged_logpush_lag_records{job="1"}')) === 0)
  await read(daemon, 1, 1)
  await jobs.update(1, { ...zone, enabled: false })
  await until(async () => linesOf(await written()) === 4)
  t.notMatch(await written(), 'unseen')
  t.match(await written(), seen)

  daemon.signal('SIGTERM')
  t.equal(await daemon.ended, 0)
  t.notMatch(daemon.lines.join('\n'), SECRET)
  t.notMatch((await textsBelow(join(folder, 'data'))).join(''), SECRET)
})

t.test('changes and findings become records of their account', options, async (t) => {
  const folder = testFolder(t)
  const daemon = await startDaemon(
    t,
    configuration('http://127.0.0.1:1', { logpush: { destinations: { allow_file_under: [folder] } } }),
    folder,
  )
  const { jobs } = new Cloudflare({ apiToken: TOKEN, baseURL: daemon.control, maxRetries: 0 }).logpush
  for (const dataset of ['audit_logs_v2', 'casb_findings'] as const) {
    await mkdir(join(folder, dataset))
    await jobs.create({ ...account, dataset, destination_conf: `file://${join(folder, dataset)}`, enabled: true })
  }
  await put(daemon, 'http_request_firewall_custom', [{ action: 'block', expression: 'http.host eq "a"' }])
  await fetch(`${daemon.control}/accounts/${ACCOUNT}/edged/findings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/x-ndjson' },
    body: ndjson(finding('f1', [instance('i1')])),
  })
  // The second job, and the ruleset.
  await read(daemon, 1, 2)
  await read(daemon, 2, 1)
  await jobs.update(2, { ...account, enabled: false })
  await read(daemon, 1, 3)
  await jobs.update(1, { ...account, enabled: false })
  const records = async (dataset: string, count: number): Promise<Record<string, unknown>[]> => {
    const written = async () => (await textsBelow(join(folder, dataset))).join('')
    await until(async () => linesOf(await written()) === count)
    return (await written())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  }
  const shared = { AccountID: ACCOUNT, AccountName: 'Example', ActionResult: 'success', ActorContext: 'api_token' }
  t.match(await records('audit_logs_v2', 3), [
    { ...shared, ActionType: 'create', ResourceType: 'logpush_job', ResourceID: '2', ZoneID: null },
    { ...shared, ActionType: 'create', ResourceScope: 'zones', ZoneID: ZONE, ZoneName: 'example.test' },
    { ...shared, ActionType: 'update', ResourceType: 'logpush_job', ActorTokenDetails: { name: 'e2e' } },
  ])
  t.match(await records('casb_findings', 1), [{ InstanceID: 'i1' }])
})

t.test('the demo ships its own requests to files', options, async (t) => {
  const folder = testFolder(t, { config: {} })
  const demo = await readFile(new URL('../../config/demo.yaml', import.meta.url), 'utf8')
  const { proxy: _proxy, control: _control, admin: _admin, ...rest } = parse(demo) as Record<string, unknown>
  const config = { ...rest, tokens: [], data: '../data/demo' }
  const daemon = await startDaemon(t, config, join(folder, 'config'))
  const { headers, body } = await request(`${daemon.proxy}/signals.html`, { headers: { accept: 'text/markdown' } })
  await body.dump()
  const files = async () => await textsBelow(join(folder, 'data/demo/logs')).catch(() => [])
  await until(async () => (await files()).length > 0)
  const [text = ''] = await files()
  t.match(JSON.parse(text), {
    EdgeStartTimestamp: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
    RayID: headers['cf-ray'],
    ClientIP: '127.0.0.1',
    ClientRequestURI: '/signals.html',
    EdgeResponseStatus: 200,
    EdgeResponseContentType: 'text/markdown; charset=utf-8',
    OriginResponseStatus: 200,
  })
})
