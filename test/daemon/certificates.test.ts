import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { systemClock } from '../../src/core/clock.js'
import type { DaemonStatus } from '../../src/daemon/state/status.js'
import { NO_PEBBLE } from '../helpers/pebble.js'
import { originServer, until } from '../helpers/web.js'
import { ACCOUNT, acmeDaemon, issued, presented, retry, TOKEN, UNRECOGNIZED, ZONE } from './acme-helper.js'

/** A clock that can be set forward, so that failed orders are due again. */
function shiftedClock() {
  let shift = 0
  return { clock: { ...systemClock, now: () => Date.now() + shift }, forward: (ms: number) => (shift += ms) }
}

const status = async (admin: string): Promise<DaemonStatus> =>
  (await (await fetch(`${admin}/status`)).json()) as DaemonStatus
const zone = (more: string) => `\n  - { id: ${ZONE}, account: ${ACCOUNT}, name: one.test, origin: demo${more} }`

t.test(
  'a zone without hostnames gets certificates for its name and www; others are named',
  { skip: NO_PEBBLE },
  async (t) => {
    const { clock, forward } = shiftedClock()
    const all = await acmeDaemon(t, { zones: zone(''), clock })
    const warnings = () => all.lines.filter(({ event }) => event === 'certificate_missing')
    t.match(warnings(), [{ name: '*.one.test', msg: /dns-01 only; add the exact names in hostnames/ }])
    t.equal(warnings().length, 1, 'what is being ordered is no warning')
    forward(120_000)
    await retry(all)
    t.match(await issued(all.tlsPort, 'one.test'), { names: 'DNS:one.test' })
    t.match(await issued(all.tlsPort, 'www.one.test'), { names: 'DNS:www.one.test' })
    t.equal(all.pebble.issued(), 2, 'an order for each name')
    const { certificates, missing_certificates: missing } = await status(all.daemon.admin)
    t.same(
      new Set(certificates.map(({ names, source }) => `${source} ${names.join()}`)),
      new Set(['acme one.test', 'acme www.one.test']),
    )
    t.match(missing, [{ name: '*.one.test', zone: 'one.test', zone_id: ZONE }])
    t.equal(missing.length, 1)

    for (let i = 0; i < 3; i++) t.equal(await presented(all.tlsPort, 'api.one.test'), UNRECOGNIZED)
    await until(() => all.lines.some(({ event }) => event === 'no_certificate'))
    await presented(all.tlsPort, 'other.one.test')
    await until(() => all.lines.some(({ name }) => name === 'other.one.test'))
    const logged = all.lines.filter(({ event }) => event === 'no_certificate')
    t.match(logged, [
      { name: 'api.one.test', msg: /only a pattern covers it.*add the exact names/ },
      { name: 'other.one.test' },
    ])
    t.equal(logged.length, 2, 'one line for each name')

    const api = await fetch(`${all.daemon.control}/zones/${ZONE}/edged/certificates`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    })
    const { result } = (await api.json()) as { result: object[] }
    t.match(result, [
      { source: 'acme' },
      { source: 'acme' },
      { source: 'missing', names: ['*.one.test'], why: /dns-01/, write: /on_demand/ },
    ])
  },
)

t.test('the alert arrives as the bytes of RFC 8446, and the connection ends', { skip: NO_PEBBLE }, async (t) => {
  const all = await acmeDaemon(t, { zones: zone(', hostnames: [one.test]') })
  const socket = connect(all.tlsPort, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.write(clientHello('one.test'))
  const parts: Buffer[] = []
  socket.on('data', (part: Buffer) => parts.push(part))
  await once(socket, 'end')
  t.equal(Buffer.concat(parts).toString('hex'), '15030300020270')
})

t.test('www: false leaves it out; dns-01 gives wildcards, which cover www', { skip: NO_PEBBLE }, async (t) => {
  const { clock, forward } = shiftedClock()
  const dns = `, challenges: [dns-01], dns: { command: ["${process.execPath}", ./hook.mjs] }`
  const all = await acmeDaemon(t, { zones: zone(''), clock, acme: dns.replace('./hook.mjs', 'HOOK') })
  t.same(
    all.lines.filter(({ event }) => event === 'certificate_missing'),
    [],
    'both are ordered',
  )
  await until(() => all.lines.filter(({ event }) => event === 'certificate_not_issued').length >= 2)
  forward(120_000)
  const command = [process.execPath, `${all.folder}/hook.mjs`]
  const { tls } = all.config.proxy
  const proxy = { ...all.config.proxy, tls: { ...tls!, acme: { ...tls!.acme!, dns: { command } } } }
  await all.daemon.reload({ ...all.config, proxy })
  t.match(await issued(all.tlsPort, 'one.test'), { names: 'DNS:one.test' })
  t.match(await issued(all.tlsPort, 'www.one.test'), { names: 'DNS:*.one.test' })
  t.equal(await presented(all.tlsPort, 'a.b.one.test'), UNRECOGNIZED, 'a wildcard covers one label')
  t.equal(all.pebble.issued(), 2)
  t.same((await status(all.daemon.admin)).missing_certificates, [])
})

t.test('on_demand orders at the first handshake what the URL allows', { skip: NO_PEBBLE }, async (t) => {
  const asked: string[] = []
  const ask = await originServer(t, (request, response) => {
    asked.push(request.url ?? '')
    response.statusCode = request.url?.includes('allowed') ? 200 : 404
    response.end()
  })
  for (const processes of [1, 2]) {
    asked.length = 0
    const all = await acmeDaemon(t, {
      zones: zone(', hostnames: ["*"]'),
      acme: `, on_demand: { ask: "${ask}/may?x=1", per_hour: 2 }`,
      more: `processes: ${processes}`,
    })
    t.same(
      all.lines.filter(({ event }) => event === 'certificate_missing'),
      [],
    )
    const found = await Promise.all([1, 2, 3].map(async () => await presented(all.tlsPort, 'allowed.customer.test')))
    const { serial } = await issued(all.tlsPort, 'allowed.customer.test')
    t.same(
      found.map((one) => (typeof one === 'string' ? one : one.serial)),
      [serial, serial, serial],
      `the handshakes wait for one order, with ${processes} processes`,
    )
    t.same(asked, ['/may?x=1&domain=allowed.customer.test'])
    t.equal(await presented(all.tlsPort, 'refused.customer.test'), UNRECOGNIZED)
    await until(() =>
      all.lines.some(({ event, name }) => event === 'no_certificate' && name === 'refused.customer.test'),
    )
    t.equal(await presented(all.tlsPort, 'localhost'), UNRECOGNIZED, 'no authority issues for it')
    t.equal(asked.length, 2, 'and nobody is asked')
    await issued(all.tlsPort, 'allowed2.customer.test')
    t.equal(await presented(all.tlsPort, 'allowed3.customer.test'), UNRECOGNIZED, 'beyond per_hour')
    t.equal(all.pebble.issued(), 2)
    await all.daemon.close()
  }
})

/** Returns a ClientHello of TLS 1.2 for a server name. */
function clientHello(name: string): Buffer {
  const field = (size: number, value: Buffer) => {
    const length = Buffer.alloc(size)
    length.writeUIntBE(value.length, 0, size)
    return Buffer.concat([length, value])
  }
  const host = field(2, Buffer.concat([Buffer.from([0]), field(2, Buffer.from(name))]))
  const extensions = field(2, Buffer.concat([Buffer.from([0, 0]), field(2, host)]))
  const body = Buffer.concat([
    Buffer.from([3, 3]),
    Buffer.alloc(32, 7),
    Buffer.from([0, 0, 2, 0xc0, 0x2b, 1, 0]),
    extensions,
  ])
  return Buffer.concat([Buffer.from([22, 3, 1]), field(2, Buffer.concat([Buffer.from([1]), field(3, body)]))])
}
