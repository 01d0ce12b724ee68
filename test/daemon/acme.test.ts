import t from 'tap'
import { systemClock } from '../../src/core/clock.js'
import { silentLog } from '../../src/core/log.js'
import { startDaemon } from '../../src/daemon/index.js'
import { NO_PEBBLE } from '../helpers/pebble.js'
import { until } from '../helpers/web.js'
import { acmeDaemon, issued, presented, retry, TOKEN, UNRECOGNIZED, ZONE } from './acme-helper.js'

const YEAR_MS = 365 * 86_400_000

for (const challenge of ['tls-alpn-01', 'http-01']) {
  t.test(`${challenge}: exact names of zones and custom hostnames get certificates`, { skip: NO_PEBBLE }, async (t) => {
    let shift = 0
    const clock = { ...systemClock, now: () => Date.now() + shift }
    const all = await acmeDaemon(t, { acme: `, challenges: [${challenge}]`, clock })
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
    t.match(await issued(all.tlsPort, 'one.test'), { names: 'DNS:one.test' })
    t.match(await issued(all.tlsPort, 'two.test'), { names: 'DNS:two.test' })
    t.equal(await certificate('sub.one.test'), UNRECOGNIZED, 'a wildcard cannot be ordered')

    const created = await fetch(`${all.daemon.control}/zones/${ZONE}/custom_hostnames`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ hostname: 'shop.customer.test' }),
    })
    const { result: custom } = (await created.json()) as { result: { id: string; ssl: object } }
    t.match(custom.ssl, { status: 'pending_validation', hosts: ['shop.customer.test'] })
    await issued(all.tlsPort, 'shop.customer.test')
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

    const before = await issued(all.tlsPort, 'one.test')
    shift = 4 * YEAR_MS
    await retry(all)
    await until(async () => (await issued(all.tlsPort, 'one.test')).serial !== before.serial)
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
  const all = await acmeDaemon(t, { acme: `, eab: ${JSON.stringify(eab)}`, clock, eab })
  shift = 120_000
  await retry(all)
  const before = await issued(all.tlsPort, 'one.test')
  await until(() => all.pebble.issued() === 2)
  await all.daemon.close()

  const again = await startDaemon(all.config, { log: silentLog, clock })
  t.teardown(() => again.close())
  t.same(await presented(Number(new URL(again.proxyTls ?? '').port), 'one.test'), before)
  t.equal(all.pebble.issued(), 2, 'nothing is ordered again')
})
