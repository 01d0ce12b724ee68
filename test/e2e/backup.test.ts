import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { finding, instance, ndjson, policy, webhook } from '../control/webhooks/helper.js'
import { testFolder } from '../helpers/folder.js'
import { Receiver } from '../helpers/receiver.js'
import { NO_REDIS, redisServer } from '../helpers/redis.js'
import { CA_FILE } from '../helpers/tls.js'
import { ACCOUNT, configuration, startDaemon, TOKEN, unbuilt, ZONE, type Daemon } from './daemon.js'
import { edged } from './run-edged.js'

const backup = async (folder: string, daemon: Daemon, file: string) =>
  await edged(folder, 'backup', file, '-c', 'edged.yaml', '--admin', daemon.admin.replace('http://', ''))

async function call(daemon: Daemon, method: string, path: string, body?: unknown) {
  const response = await fetch(`${daemon.control}${path}`, {
    method,
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const value = (await response.json().catch(() => null)) as { result: { id: string } } | null
  return { status: response.status, etag: response.headers.get('etag'), value }
}

/** Of webhooks; started with the test. */
let receiver: Receiver | undefined

const config = (more: object = {}): object =>
  configuration('http://127.0.0.1:9', {
    egress: {
      allow_cidrs: [`127.0.0.1/32:${receiver?.port}`],
      ca_file: CA_FILE,
      resolver_overrides: { 'receiver.test': ['127.0.0.1'] },
    },
    logpush: { destinations: { allow_file_under: ['/tmp'] } },
    control: { listen: '127.0.0.1:0', rate_limit: { requests: 0 } },
    ...more,
  })

/** Stores something of every area. */
async function fill(t: Test, daemon: Daemon): Promise<void> {
  const made = async (method: string, path: string, body: unknown) => {
    const { status, value } = await call(daemon, method, path, body)
    t.ok(status < 300, `${method} ${path}: ${status} ${JSON.stringify(value)}`)
    return String(value?.result?.id)
  }
  const account = `/accounts/${ACCOUNT}`
  const posture = `${account}/data-security/posture`
  const rules = [{ action: 'block', expression: 'http.request.uri.path eq "/no"' }]
  await made('POST', `/zones/${ZONE}/rulesets`, {
    name: 'r',
    kind: 'zone',
    phase: 'http_request_firewall_custom',
    rules,
  })
  const list = await made('POST', `${account}/rules/lists`, { name: 'l', kind: 'ip' })
  await made('POST', `${account}/rules/lists/${list}/items`, [{ ip: '192.0.2.1' }])
  const hook = await made('POST', `${posture}/webhooks`, webhook({ destination_url: receiver?.url() }))
  await made('POST', `${posture}/policies`, policy([hook]))
  await made('POST', `${account}/edged/findings`, ndjson(finding('f', [instance('i')])))
  const space = await made('POST', `${account}/storage/kv/namespaces`, { title: 'n' })
  await made('PUT', `${account}/storage/kv/namespaces/${space}/values/small`, 'text')
  await made('PUT', `${account}/storage/kv/namespaces/${space}/values/large`, 'x'.repeat(3_000_000))
  await made('PATCH', `/zones/${ZONE}/settings/content_converter`, { value: 'off' })
  await made('POST', `/zones/${ZONE}/logpush/jobs`, {
    destination_conf: 'file:///tmp/edged-backup-test',
    enabled: false,
  })
}

interface Document {
  readonly paths: Readonly<Record<string, { readonly get?: unknown }>>
}

/** Returns the response to every GET of the API, for all ids that lists return. Times that pass are left out. */
async function everything(daemon: Daemon): Promise<Map<string, string>> {
  const origin = daemon.control.replace(/\/client\/v4$/, '')
  const { paths } = (await (await fetch(`${origin}/openapi.json`)).json()) as Document
  const found = new Map<string, string>()
  const templates = Object.entries(paths).filter(([, { get }]) => get !== undefined)
  const shortest = templates
    .map(([path]) =>
      path
        .replace(/^\/client\/v4/, '')
        .replace('{account_id}', ACCOUNT)
        .replace('{zone_id}', ZONE),
    )
    .sort((a, b) => a.split('{').length - b.split('{').length)
  const ids = new Map<string, string[]>()
  for (const template of shortest) {
    const parent = template.slice(0, template.lastIndexOf('/{'))
    const open = template.split('{').length - 1
    const targets =
      open === 0
        ? [template]
        : [...ids].flatMap(([list, names]) =>
            open === 1 && list === parent ? names.map((name) => template.replace(/\{[^}]+\}/, name)) : [],
          )
    for (const path of targets) {
      const response = await fetch(`${daemon.control}${path}`, { headers: { authorization: `Bearer ${TOKEN}` } })
      // The daemons have their configuration files in folders of their own.
      const body = Buffer.from(await response.arrayBuffer())
        .toString('latin1')
        .replaceAll(/"file":"[^"]*edged\.yaml"/g, '"file":"edged.yaml"')
      found.set(path, `${response.status} ${response.headers.get('etag')} ${body}`)
      const list = listed(body)
      if (list.length > 0) ids.set(path, list)
    }
  }
  return found
}

function listed(body: string): string[] {
  try {
    const { result } = JSON.parse(body) as { result?: unknown }
    return Array.isArray(result)
      ? result.flatMap((item: { id?: string | number }) => (item.id === undefined ? [] : [String(item.id)]))
      : []
  } catch {
    return []
  }
}

/** Attempts of deliveries and traffic differ from moment to moment, the place of data with the type of the store. */
const CHANGING = /\/(analytics|jobs|traffic|pipelines|tails|overview|worker-data)\b/

t.test('a restored daemon responds the same to every GET', { skip: unbuilt, timeout: 300_000 }, async (t) => {
  receiver = await Receiver.start()
  t.teardown(() => receiver?.close())
  const folder = testFolder(t, { one: {}, two: {} })
  const [one, two] = [join(folder, 'one'), join(folder, 'two')]
  const daemon = await startDaemon(t, config(), one)
  await fill(t, daemon)
  const before = await everything(daemon)
  t.ok(before.size > 40, `${before.size} paths`)
  const file = join(folder, 'backup.tar')

  await t.test('it is written under writes, for its owner only', async (t) => {
    const writing = Array.from({ length: 50 }, async (_, n) => {
      await call(daemon, 'PUT', `/accounts/${ACCOUNT}/rules/lists/${'0'.repeat(32)}`, { description: `d${n}` })
    })
    const [written] = await Promise.all([backup(one, daemon, file), ...writing])
    t.match(written, { code: 0, output: /\d+ records, \d+ audit entries, [1-9]\d* blobs?/ })
    t.equal((await stat(file)).mode & 0o777, 0o600)
    const before = await readFile(file)
    t.match(await backup(one, daemon, file), {
      code: 1,
      output: /exists; name another file, or replace it with --force/,
    })
    t.same(await readFile(file), before, 'an existing file is not replaced unasked')
  })

  await t.test('only for those who have the secret key', async (t) => {
    t.equal((await fetch(`${daemon.admin}/backup`, { method: 'POST' })).status, 403)
    await writeFile(join(folder, 'other.yaml'), stringify({ secrets: { key: 'cd'.repeat(32) } }))
    const address = daemon.admin.replace('http://', '')
    const denied = await edged(folder, 'backup', 'x.tar', '-c', 'other.yaml', '--admin', address)
    t.match(denied, { code: 1, output: /secret key/ })
  })

  await t.test('a damaged, incomplete or newer archive and a folder in use are rejected', async (t) => {
    await writeFile(join(two, 'edged.yaml'), stringify({ data: './data', ...config() }))
    const bytes = await readFile(file)
    const damaged = Buffer.from(bytes)
    // In the first record, after the header of its member.
    damaged[bytes.indexOf('records/000001.ndjson') + 512 + 20]! ^= 1
    await writeFile(join(folder, 'damaged.tar'), damaged)
    await writeFile(join(folder, 'short.tar'), bytes.subarray(0, bytes.length / 2))
    const newer = bytes.toString('latin1').replace('{"format":2', '{"format":9')
    await writeFile(join(folder, 'newer.tar'), newer, 'latin1')
    for (const [name, output] of [
      ['damaged', /records\/000001\.ndjson is not what was written/],
      ['short', /is cut off|no manifest/],
      ['newer', /newer edged \(.*format 9, not 3/],
    ] as const)
      t.match(await edged(two, 'restore', join(folder, `${name}.tar`), '-c', 'edged.yaml'), { code: 1, output }, name)
    t.match(await edged(one, 'restore', file, '-c', 'edged.yaml'), { code: 1, output: /is not empty/ })
  })

  await t.test('into an embedded store', async (t) => {
    t.match(await edged(two, 'restore', file, '-c', 'edged.yaml'), { code: 0, output: /restored/ })
    await compare(t, before, await startDaemon(t, config(), two))
  })

  await t.test('into Redis, and back into an embedded store', { skip: NO_REDIS }, async (t) => {
    const own = testFolder(t, { redis: {}, three: {}, four: {} })
    const redis = await redisServer(join(own, 'redis'))
    t.teardown(async () => await redis.kill())
    const [three, four] = [join(own, 'three'), join(own, 'four')]
    const shared = config({ store: redis.url })
    await writeFile(join(three, 'edged.yaml'), stringify({ data: './data', ...shared }))
    t.match(await edged(three, 'restore', file, '-c', 'edged.yaml'), { code: 0 })
    const third = await startDaemon(t, shared, three)
    await compare(t, before, third)
    await writeFile(join(four, 'edged.yaml'), stringify({ data: './data', ...shared }))
    t.match(await edged(four, 'restore', file, '-c', 'edged.yaml'), { code: 1, output: /has data of edged already/ })

    const again = join(own, 'again.tar')
    t.match(await backup(three, third, again), { code: 0 })
    await writeFile(join(four, 'edged.yaml'), stringify({ data: './data', ...config() }))
    t.match(await edged(four, 'restore', again, '-c', 'edged.yaml'), { code: 0 })
    await compare(t, before, await startDaemon(t, config(), four))
  })
})

async function compare(t: Test, before: ReadonlyMap<string, string>, daemon: Daemon): Promise<void> {
  const after = await everything(daemon)
  t.same(
    [...after.keys()].filter((path) => !before.has(path)),
    [],
  )
  for (const [path, response] of before) if (!CHANGING.test(path)) t.equal(after.get(path), response, path)
}
