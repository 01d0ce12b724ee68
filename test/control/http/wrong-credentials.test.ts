/** Addresses that send many wrong credentials are blocked. */
import t from 'tap'
import { FailedAttempts } from '../../../control/http/auth/failed-attempts.js'
import { SharedFailures } from '../../../control/http/auth/shared-failures.js'
import type { ApiError } from '../../../control/http/errors.js'
import { silentLog } from '../../../src/core/log.js'
import { FAILED_ATTEMPTS } from '../../../src/core/model/token.js'
import { openStore } from '../../../src/store/index.js'
import { HandClock } from '../../helpers/hand-clock.js'
import { until } from '../../helpers/web.js'
import { ACCOUNT, ADMIN, client, CONFIG, handClock, ZONE } from '../client.js'

t.test('an address with many wrong credentials is blocked, even with right ones', async (t) => {
  const { url, clock } = await client(t)
  const ask = async (token: string) => await fetch(`${url}/zones`, { headers: { authorization: `Bearer ${token}` } })
  for (let n = 0; n < 60; n += 1) t.equal((await ask(`guess-${n}`)).status, 403)
  const refused = await ask('another-guess')
  t.equal(refused.status, 429)
  t.match(await refused.json(), { success: false, errors: [{ code: 10429 }] })
  t.equal(refused.headers.get('retry-after'), '60')
  t.equal((await ask(ADMIN)).status, 429, 'credentials are not looked at')
  clock.advance(59_000)
  t.equal((await ask(ADMIN)).status, 429)
  clock.advance(1000)
  t.equal((await ask(ADMIN)).status, 200)
})

t.test('a right token of a blocked address learns whose block it is and how long it lasts', async (t) => {
  const { call, clock, url } = await client(t)
  for (let n = 0; n < 60; n += 1) await fetch(`${url}/zones`, { headers: { authorization: `Bearer guess-${n}` } })
  clock.advance(20_000)
  t.match(await call('GET', '/zones'), {
    status: 429,
    body: { errors: [{ message: /^127\.0\.0\.1 is blocked for 40 s after 60 requests .* control\.trusted_proxies$/ }] },
  })
})

const behindProxy = { control: { ...CONFIG.control, trusted_proxies: ['127.0.0.1', '10.0.0.0/8'] } }

t.test('wrong credentials count for the client that a trusted proxy reports', async (t) => {
  const { call, as, url } = await client(t, { config: behindProxy })
  const from = (forwarded: string) => ({ 'x-forwarded-for': forwarded })
  for (let n = 0; n < 60; n += 1) await as(`guess-${n}`)('GET', '/zones', undefined, from('192.0.2.1'))
  const blocked = await call('GET', '/zones', undefined, from('192.0.2.1'))
  t.match(blocked, { status: 429, body: { errors: [{ message: /^192\.0\.2\.1 is blocked/ }] } })
  t.equal((await call('GET', '/zones', undefined, from('192.0.2.2'))).status, 200, 'another client')
  t.equal((await call('GET', '/zones')).status, 200, 'the proxy itself')
  const forged = from('192.0.2.2, 192.0.2.1, 10.1.2.3')
  t.equal((await call('GET', '/zones', undefined, forged)).status, 429, 'entries before the first untrusted one')
  const response = await fetch(`${url}/zones`, {
    headers: [
      ['authorization', `Bearer ${ADMIN}`],
      ['x-forwarded-for', '192.0.2.2'],
      ['x-forwarded-for', '192.0.2.1'],
    ],
  })
  t.equal(response.status, 429, 'the last of two header fields')
})

t.test('X-Forwarded-For of other peers has no effect', async (t) => {
  const { call, as } = await client(t)
  for (let n = 0; n < 60; n += 1)
    await as(`guess-${n}`)('GET', '/zones', undefined, { 'x-forwarded-for': `192.0.2.${n}` })
  t.equal((await call('GET', '/zones', undefined, { 'x-forwarded-for': '192.0.2.99' })).status, 429)
})

t.test('conditions of tokens and the audit log have the address that a trusted proxy reports', async (t) => {
  const { call, as } = await client(t, { config: behindProxy })
  const inside = { 'x-forwarded-for': '198.51.100.7' }
  const policies = [
    {
      effect: 'allow',
      permission_groups: [{ name: 'Zone Read' }],
      resources: { 'com.cloudflare.api.account.*': '*' },
    },
  ]
  const condition = { request_ip: { in: ['198.51.100.0/24'] } }
  const { body } = await call('POST', '/user/tokens', { name: 'office', policies, condition }, inside)
  const office = as(body.result.value)
  t.equal((await office('GET', '/zones', undefined, inside)).status, 200)
  t.match(await office('GET', '/zones', undefined, { 'x-forwarded-for': '192.0.2.1' }), {
    status: 403,
    body: { errors: [{ code: 9109, message: /from location: 192\.0\.2\.1$/ }] },
  })
  const setting = `/zones/${ZONE}/settings/content_converter`
  t.equal((await call('PATCH', setting, { value: 'on' }, { 'x-forwarded-for': '198.51.100.8' })).status, 200)
  const { body: log } = await call('GET', `/accounts/${ACCOUNT}/audit_logs?actor.ip=198.51.100.8`)
  t.match(log.result, [{ actor: { ip: '198.51.100.8' } }])
})

t.test('addresses of one IPv6 network are counted together', async (t) => {
  const clock = handClock()
  const failed = new FailedAttempts(clock)
  for (let n = 0; n < 60; n += 1) failed.count(`2001:db8:1:2::${n.toString(16)}`)
  t.throws(() => failed.check('2001:db8:1:2:ffff::1'), /wrong credentials/)
  for (const other of ['2001:db8:1:3::1', '2001:db8::1:2', '::1', '192.0.2.1', '::ffff:192.0.2.1'])
    t.doesNotThrow(() => failed.check(other), other)
})

t.test('wrong credentials of an address are counted over all machines with one store', async (t) => {
  const clock = handClock()
  const store = await openStore('memory', { folder: '', log: silentLog, clock })
  t.teardown(async () => await store.close())
  const on = (machine: string) => new FailedAttempts(clock, new SharedFailures({ store, clock, machine }))
  const [one, two] = [on('one'), on('two')]
  for (let n = 0; n < 30; n += 1) {
    one.count('192.0.2.1')
    two.count('192.0.2.1')
  }
  for (const machine of [one, two]) t.doesNotThrow(() => machine.check('192.0.2.1'))
  clock.advance(1000)
  await until(() => store.count(FAILED_ATTEMPTS) === 2)
  for (const machine of [one, two, on('three')]) {
    t.throws(() => machine.check('192.0.2.1'), /wrong credentials/)
    t.doesNotThrow(() => machine.check('192.0.2.2'))
  }
  clock.advance(59_000)
  for (const machine of [one, two]) t.doesNotThrow(() => machine.check('192.0.2.1'), 'a minute later')
})

t.test('wrong credentials of other machines count for a minute, even if the clock is set back', async (t) => {
  const clock = new HandClock()
  const store = await openStore('memory', { folder: '', log: silentLog, clock })
  t.teardown(async () => await store.close())
  const on = (machine: string) => new FailedAttempts(clock, new SharedFailures({ store, clock, machine }))
  const [one, two] = [on('one'), on('two')]
  const retryAfter = (): string | undefined => {
    try {
      two.check('192.0.2.1')
    } catch (error) {
      return (error as ApiError).detail.headers?.['retry-after']
    }
    return undefined
  }
  for (let n = 0; n < 60; n += 1) one.count('192.0.2.1')
  await clock.advance(1000)
  await until(() => store.count(FAILED_ATTEMPTS) === 1)
  t.match(retryAfter(), /^[1-5]?\d$/)
  clock.jump(-7_200_000)
  t.match(retryAfter(), /^[1-5]?\d$/)
  await clock.advance(60_000)
  t.equal(retryAfter(), undefined)
})
