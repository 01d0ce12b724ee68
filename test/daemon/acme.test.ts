import { join } from 'node:path'
import { connect } from 'node:tls'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { readConfig } from '../../src/config/load.js'
import type { Config } from '../../src/config/schema.js'
import { systemClock, type Clock } from '../../src/core/clock.js'
import { silentLog } from '../../src/core/log.js'
import { startDaemon, type Daemon } from '../../src/daemon/index.js'
import { testFolder } from '../helpers/folder.js'
import { freePort } from '../helpers/free-port.js'
import { NO_PEBBLE, startPebble, type Pebble } from '../helpers/pebble.js'
import { CA_FILE } from '../helpers/tls.js'
import { until } from '../helpers/web.js'

const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'
const ZONE = '9f1839b6152d298aca64c4e906b6d074'
const TOKEN = 'an-admin-token-of-forty-characters-000000'
const YEAR_MS = 365 * 86_400_000

interface Setup {
  readonly folder: string
  readonly daemon: Daemon
  readonly pebble: Pebble
  readonly config: Config
  readonly tlsPort: number
}

async function setUp(
  t: Test,
  { acme = '', clock = systemClock, eab }: { acme?: string; clock?: Clock; eab?: { key_id: string; hmac_key: string } },
): Promise<Setup> {
  const folder = testFolder(t)
  const port = await freePort()
  const config = readConfig(
    `data: ./data
log: { level: error }
proxy:
  listen: "127.0.0.1:0"
  tls:
    listen: "127.0.0.1:0"
    acme: { directory: "https://localhost:${port}/dir", email: ops@example.com, agree_to_terms: true, ca_file: "${CA_FILE}"${acme} }
control: { listen: "127.0.0.1:0" }
admin: { listen: "127.0.0.1:0" }
accounts: [{ id: ${ACCOUNT}, name: Example }]
tokens: [{ name: admin, token: ${TOKEN}, permissions: ["*"], accounts: ["*"], zones: ["*"] }]
zones:
  - { id: ${ZONE}, account: ${ACCOUNT}, name: one.test, hostnames: [one.test, "*.one.test", localhost], origin: demo }
  - { id: 8f1839b6152d298aca64c4e906b6d074, account: ${ACCOUNT}, name: two.test, hostnames: [two.test], origin: demo }`,
    join(folder, 'test.yaml'),
    {},
  )
  const daemon = await startDaemon(config, { log: silentLog, clock })
  t.teardown(() => daemon.close())
  const portOf = (url: string | undefined) => Number(new URL(url ?? '').port)
  const tlsPort = portOf(daemon.proxyTls)
  const pebble = await startPebble(t, folder, { port, httpPort: portOf(daemon.proxy), tlsPort, ...(eab && { eab }) })
  return { folder, daemon, pebble, config, tlsPort }
}

/** Returns the certificate that a handshake for a name presents; undefined if it fails. */
async function presented(port: number, name: string): Promise<{ names: string; serial: string } | undefined> {
  const socket = connect({ port, host: '127.0.0.1', servername: name, rejectUnauthorized: false })
  try {
    await once(socket, 'secureConnect')
    const { subjectaltname: names = '', serialNumber: serial } = socket.getPeerCertificate()
    return { names, serial }
  } catch {
    return undefined
  } finally {
    socket.destroy()
  }
}

/** Attempts failed before the authority ran: the next ones are due at once. */
async function retry({ daemon, config }: Setup): Promise<void> {
  await daemon.reload(config)
}

for (const challenge of ['tls-alpn-01', 'http-01']) {
  t.test(`${challenge}: exact names of zones and custom hostnames get certificates`, { skip: NO_PEBBLE }, async (t) => {
    let shift = 0
    const clock = { ...systemClock, now: () => Date.now() + shift }
    const all = await setUp(t, { acme: `, challenges: [${challenge}]`, clock })
    const zone = async (path: string) => {
      const response = await fetch(`${all.daemon.control}/zones/${ZONE}${path}`, {
        headers: { authorization: `Bearer ${TOKEN}` },
      })
      return (await response.json()) as { result: never }
    }
    const packs = '/ssl/certificate_packs'
    // The first orders failed, because the authority was not there.
    await until(async () =>
      Object.keys((await zone(`${packs}?status=all`)).result[0] ?? {}).includes('validation_errors'),
    )
    t.match(await zone(`${packs}?status=all`), {
      result: [{ type: 'universal', hosts: ['one.test'], status: 'pending_validation', certificates: [] }],
      result_info: { total_count: 1 },
    })
    t.same((await zone(packs)).result, [], 'an open order is not in use')
    shift = 120_000
    await retry(all)
    const certificate = async (name: string) => await presented(all.tlsPort, name)
    await until(
      async () => (await certificate('two.test')) !== undefined && (await certificate('one.test')) !== undefined,
    )
    t.match(await certificate('one.test'), { names: 'DNS:one.test' })
    t.match(await certificate('two.test'), { names: 'DNS:two.test' })
    t.equal(await certificate('sub.one.test'), undefined, 'a wildcard cannot be ordered')

    const created = await fetch(`${all.daemon.control}/zones/${ZONE}/custom_hostnames`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ hostname: 'shop.customer.test' }),
    })
    const { result: custom } = (await created.json()) as { result: { id: string; ssl: object } }
    t.match(custom.ssl, { status: 'pending_validation', hosts: ['shop.customer.test'] })
    await until(async () => (await certificate('shop.customer.test')) !== undefined)
    t.match(await zone(`/custom_hostnames/${custom.id}`), {
      result: { ssl: { status: 'active', issuer: /Pebble/, serial_number: /^[0-9a-f]+$/, expires_on: /Z$/ } },
    })
    t.match(await zone('/custom_hostnames?ssl_status=active'), { result: [{ id: custom.id }] })
    t.same((await zone('/custom_hostnames?ssl_status=pending_validation')).result, [])
    const { result: used } = (await zone(packs)) as { result: { id: string }[] }
    t.match(used, [{ hosts: ['one.test'], status: 'active', certificates: [{ issuer: /Pebble/, zone_id: ZONE }] }])
    t.same((await zone(`${packs}/${used[0]?.id}`)).result, used[0])
    t.match(await certificate('shop.customer.test'), { names: 'DNS:shop.customer.test' })
    t.equal(all.pebble.issued(), 3, 'one order for each name')

    const metrics = await (await fetch(`${all.daemon.admin}/metrics`)).text()
    t.match(metrics, /edged_acme_certificate_days_left\{name="one\.test"\} \d+/)

    const before = await certificate('one.test')
    shift = 4 * YEAR_MS
    await retry(all)
    await until(async () => (await certificate('one.test'))?.serial !== before?.serial)
    t.pass('renewed when a third of the lifetime was left')

    const path = `${all.daemon.control}/zones/${ZONE}/custom_hostnames/${custom.id}`
    await fetch(path, { method: 'DELETE', headers: { authorization: `Bearer ${TOKEN}` } })
    // Its renewed certificate ends in its turn.
    shift = 12 * YEAR_MS
    await retry(all)
    await until(async () => {
      const response = await fetch(`${all.daemon.admin}/metrics`)
      return !(await response.text()).includes('name="shop.customer.test"')
    })
    t.pass('the certificate of a removed name is forgotten when it has expired')
  })
}

t.test('an external account binding is sent, and certificates survive a restart', { skip: NO_PEBBLE }, async (t) => {
  const eab = { key_id: 'kid-1', hmac_key: 'zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W' }
  let shift = 0
  const clock = { ...systemClock, now: () => Date.now() + shift }
  const all = await setUp(t, { acme: `, eab: ${JSON.stringify(eab)}`, clock, eab })
  shift = 120_000
  await retry(all)
  await until(async () => (await presented(all.tlsPort, 'one.test')) !== undefined)
  const before = await presented(all.tlsPort, 'one.test')
  await until(() => all.pebble.issued() === 2)
  await all.daemon.close()

  const again = await startDaemon(all.config, { log: silentLog, clock })
  t.teardown(() => again.close())
  t.same(await presented(Number(new URL(again.proxyTls ?? '').port), 'one.test'), before)
  t.equal(all.pebble.issued(), 2, 'nothing is ordered again')
})
