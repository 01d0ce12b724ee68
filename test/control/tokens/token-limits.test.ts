import t, { type Test } from 'tap'
import { ACCOUNT, client } from '../client.js'
import { excessOf } from '../../../control/http/auth/token-limits.js'

const END = '2026-12-01T00:00:00Z'
const LATER = '2026-12-02T00:00:00Z'
const POLICY = (name = 'API Tokens Write') => ({
  effect: 'allow',
  permission_groups: [{ name }],
  resources: { [`com.cloudflare.api.account.${ACCOUNT}`]: '*', 'com.cloudflare.api.account.*': '*' },
})
const LIMITED = {
  name: 'limited',
  policies: [POLICY()],
  expires_on: END,
  condition: { request_ip: { in: ['127.0.0.0/8', '::1'], not_in: ['127.0.0.9'] } },
}

/** The API as the holder of a limited token may use it, and as the administrator. */
async function limited(t: Test) {
  const { call, as } = await client(t)
  const { id, value } = (await call('POST', '/user/tokens', LIMITED)).body.result
  return { call, own: as(value), path: `/user/tokens/${id}` }
}

const NARROW = { request_ip: { in: ['127.0.0.1'] } }
const WIDER: [what: string, change: object, pointer: string][] = [
  ['without an end', { expires_on: undefined }, '/expires_on'],
  ['with a later end', { expires_on: LATER }, '/expires_on'],
  ['without a condition', { condition: undefined }, '/condition'],
  ['with an empty condition', { condition: {} }, '/condition'],
  ['with an empty list of addresses', { condition: { request_ip: { in: [] } } }, '/condition'],
  ['with a wider network', { condition: { request_ip: { in: ['126.0.0.0/7'] } } }, '/condition'],
  ['with an excluded address', { condition: { request_ip: { in: ['127.0.0.9'] } } }, '/condition'],
  ['with another address', { condition: { request_ip: { in: ['127.0.0.1', '192.0.2.1'] } } }, '/condition'],
]
for (const [what, change, pointer] of WIDER)
  t.test(`a limited token cannot make a token ${what}, nor become one`, async (t) => {
    const { own, path, call } = await limited(t)
    const body = { ...LIMITED, ...change }
    const refused = { status: 403, body: { errors: [{ code: 10042, source: { pointer } }] } }
    t.match(await own('POST', '/user/tokens', body), refused)
    t.match(await own('PUT', path, body), refused)
    t.match((await call('GET', path)).body.result, LIMITED, 'nothing changed')
    t.equal((await call('PUT', path, body)).status, 200, 'the administrator may')
  })

t.test('a limited token makes, changes and removes tokens within its own limits', async (t) => {
  const { own } = await limited(t)
  const narrow = { ...LIMITED, condition: NARROW, expires_on: '2026-11-30T00:00:00+01:00' }
  const made = await own('POST', '/user/tokens', narrow)
  t.equal(made.status, 200)
  const path = `/user/tokens/${made.body.result.id}`
  t.equal((await own('PUT', path, { ...narrow, status: 'disabled' })).status, 200)
  t.equal((await own('PUT', `${path}/value`, {})).status, 200)
  t.equal((await own('DELETE', path)).status, 200)
})

const ABOVE: [what: string, change: object][] = [
  ['without its end', { expires_on: undefined }],
  ['without its condition', { condition: undefined }],
  ['with further permissions', { policies: [POLICY(), POLICY('Logs Write')] }],
]
for (const [what, change] of ABOVE)
  t.test(`a token cannot disable, roll or remove one ${what}`, async (t) => {
    const { call, own } = await limited(t)
    const { id } = (await call('POST', '/user/tokens', { ...LIMITED, ...change })).body.result
    const path = `/user/tokens/${id}`
    const before = (await call('GET', path)).body.result
    const refused = { status: 403, body: { errors: [{ code: 10042 }] } }
    t.match(await own('PUT', path, { ...LIMITED, status: 'disabled' }), refused)
    t.match(await own('PUT', `${path}/value`, {}), refused)
    t.match(await own('DELETE', path), refused)
    t.same((await call('GET', path)).body.result, before)
  })

const ADDRESSES: [inside: string[], outside: string[], of: string[], isWithin: boolean][] = [
  [['10.0.0.0/9', '10.128.0.0/9'], [], ['10.0.0.0/8'], true],
  [['10.0.0.0/8'], [], ['10.0.0.0/9', '10.128.0.0/9'], true],
  [['10.0.0.0/8'], [], ['10.0.0.0/9', '10.128.0.0/10'], false],
  [['10.0.0.0/8'], ['10.192.0.0/10'], ['10.0.0.0/9', '10.128.0.0/10'], true],
  [['10.1.2.3/8'], [], ['10.0.0.0/8'], true],
  [['2001:db8::/33'], [], ['2001:db8::/32'], true],
  [['2001:db8::/31'], [], ['2001:db8::/32'], false],
  [['::ffff:10.0.0.1'], [], ['10.0.0.0/8'], true],
  [['::ffff:11.0.0.1'], [], ['10.0.0.0/8'], false],
  [['0.0.0.0/0'], [], ['::/0'], true],
  [['::/0'], [], ['0.0.0.0/0'], false],
]
for (const [inside, not_in, of, isWithin] of ADDRESSES)
  t.test(`${inside.join()} without ${not_in.join() || 'exceptions'} in ${of.join()}: ${isWithin}`, async (t) => {
    const excess = excessOf(
      { condition: { request_ip: { in: of } } },
      { condition: { request_ip: { in: inside, not_in } } },
    )
    t.equal(excess === undefined, isWithin)
  })
