import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import t, { type Test } from 'tap'
import { AgentIdentity } from '../../../src/agents/identity.js'
import { DIRECTORY_TYPE } from '../../../src/agents/signatures/directories.js'
import { systemClock } from '../../../src/core/clock.js'
import type { LogRecord } from '../../../src/core/emit.js'
import { silentLog } from '../../../src/core/log.js'
import { startOrigin, startProxy, testZone } from '../../helpers/proxy.js'

const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const jwk = publicKey.export({ format: 'jwk' }) as { crv: string; kty: string; x: string }
const keyid = createHash('sha256')
  .update(JSON.stringify({ crv: jwk.crv, kty: jwk.kty, x: jwk.x }))
  .digest('base64url')

/** Returns the fields of a request that `www.meta.com` signs, with the other fields among the components. */
function signed(authority: string, others: Record<string, string> = {}, nonce = '1'): Record<string, string> {
  const created = Math.floor(Date.now() / 1000)
  const names = Object.keys(others).map((name) => ` "${name}"`)
  const parameters = `("@authority" "signature-agent";key="a"${names.join('')});created=${created};expires=${created + 60};keyid="${keyid}";nonce="${nonce}";tag="web-bot-auth"`
  const lines = Object.entries(others).map(([name, value]) => `"${name}": ${value}\n`)
  const base = `"@authority": ${authority}\n"signature-agent";key="a": "https://www.meta.com"\n${lines.join('')}"@signature-params": ${parameters}`
  return {
    ...others,
    'signature-agent': 'a="https://www.meta.com"',
    'signature-input': `sig=${parameters}`,
    signature: `sig=:${sign(null, Buffer.from(base), privateKey).toString('base64')}:`,
  }
}

async function setup(t: Test, access: string) {
  const agents = new AgentIdentity({
    fetchKeys: async () => ({
      status: 200,
      type: DIRECTORY_TYPE,
      headers: {},
      bytes: Buffer.from(JSON.stringify({ keys: [jwk] })),
    }),
    fetchList: async () => await Promise.reject(new Error('no network')),
    reverse: async () => [],
    resolve: async () => [],
    judged: () => undefined,
    clock: systemClock,
    log: silentLog,
  })
  t.teardown(() => agents.close())
  const records: Record<string, LogRecord[]> = {}
  const add = (dataset: string, record: LogRecord) => void (records[dataset] ??= []).push(record)
  const emitter = {
    wants: () => true,
    emit: (dataset: string, _scope: unknown, record: LogRecord) => add(dataset, record),
    save: async (dataset: string, _scope: unknown, record: LogRecord) => {
      await new Promise(setImmediate)
      add(dataset, record)
    },
  }
  const origin = await startOrigin(t, (request, response) => {
    response.writeHead(request.url === '/missing' ? 404 : 200, {
      'content-type': 'text/plain',
      'crawler-charged': 'forged',
    })
    response.end(`page ${request.url}`)
  })
  const proxy = await startProxy(t, [testZone(origin.url, `hostnames: ['*'], agents: { access: [${access}] }`)], {
    yaml: '{ trusted_proxies: [127.0.0.1] }',
    agents,
    emitter,
  })
  const authority = `127.0.0.1:${proxy.port}`
  const get = async (path: string, headers: Record<string, string> = {}) =>
    await fetch(proxy.url + path, { headers: { 'x-forwarded-proto': 'https', ...headers } })
  // The first request of a signer asks for its keys.
  await get('/robots.txt', signed(authority))
  await agents.directories.settled()
  return { get, authority, records, proxy }
}

t.test('who is verified passes, and a liar does not', async (t) => {
  const { get, authority, records, proxy } = await setup(
    t,
    '{ who: { operator: Meta, verified: true }, do: allow }, { who: { category: ai_crawler }, do: block }',
  )
  const crawler = { 'user-agent': 'meta-externalagent/1.1' }
  t.equal((await get('/', { ...crawler, ...signed(authority) })).status, 200)
  const blocked = await get('/', crawler)
  t.equal(blocked.status, 403)
  t.equal(blocked.headers.get('cache-control'), 'no-store')
  t.equal((await get('/', { ...crawler, ...signed('other.test') })).status, 403, 'a signature for another host')
  t.equal((await get('/', { ...crawler, ...signed(authority), 'x-forwarded-proto': 'http' })).status, 403, 'plain HTTP')
  t.equal((await get('/robots.txt', crawler)).status, 200)
  t.equal((await get('/robots.txt/../secret', crawler)).status, 403)
  t.equal((await get('/', { 'user-agent': 'Mozilla/5.0 Firefox/140.0' })).status, 200)
  const seen = records.http_requests?.map((record) => [
    record.edged_agent,
    record.edged_agent_verified,
    record.edged_agent_action,
  ])
  t.strictSame(seen?.slice(1, 3), [
    ['Meta-ExternalAgent', 'signature', 'allow'],
    ['Meta-ExternalAgent', 'none', 'block'],
  ])
  const text = await proxy.metrics.metrics()
  t.match(text, 'edged_agent_requests_total{agent="Meta-ExternalAgent",verified="signature",action="allow"} 1')
})

t.test('pages are sold once for one signature', async (t) => {
  const { get, authority, records } = await setup(
    t,
    '{ who: { operator: Meta }, do: pay, price: "USD 0.01", free: ["/free/*"] }',
  )
  const crawler = { 'user-agent': 'meta-externalagent/1.1' }
  const asked = async (path: string, headers: Record<string, string>) => {
    const response = await get(path, { ...crawler, ...headers })
    const field = (name: string) => response.headers.get(`crawler-${name}`)
    return [response.status, field('error'), field('price'), field('charged')]
  }
  t.strictSame(await asked('/a', {}), [402, 'MissingCrawlerPrice', 'USD 0.01', null])
  t.strictSame((await asked('/free/a', {}))[0], 200)
  t.strictSame((await asked('/free/%2e%2e/a', {}))[0], 402)
  t.strictSame((await asked('/.well-known/x', {}))[0], 200)
  const both = { 'crawler-exact-price': 'USD 0.01', 'crawler-max-price': 'USD 1' }
  t.strictSame(await asked('/a', both), [400, 'ConflictingPriceHeaders', null, null])
  t.strictSame(await asked('/a', { 'crawler-max-price': '1 USD' }), [400, 'InvalidCrawlerPriceValue', null, null])
  const exact = (text: string) => ({ 'crawler-exact-price': text })
  t.strictSame(await asked('/a', exact('USD 0.02')), [402, 'InvalidCrawlerExactPrice', 'USD 0.01', null])
  t.strictSame(await asked('/a', { 'crawler-max-price': 'EUR 5' }), [402, 'InvalidCrawlerMaxPrice', 'USD 0.01', null])
  t.strictSame(await asked('/a', exact('USD 0.010')), [402, 'StrongAuthRequired', 'USD 0.01', null])
  const uncovered = { ...signed(authority), ...exact('USD 0.01') }
  t.strictSame(await asked('/a', uncovered), [402, 'StrongAuthRequired', 'USD 0.01', null])
  const paying = signed(authority, exact('USD 0.01'), '2')
  t.strictSame(await asked('/missing', paying), [404, null, null, null], 'no charge')
  t.strictSame(await asked('/a', paying), [200, null, null, 'USD 0.01'])
  t.strictSame(await asked('/a', paying), [402, 'StrongAuthRequired', 'USD 0.01', null], 'once')
  t.match(records.edged_crawl_charges, [
    { path: '/a', agent: 'Meta-ExternalAgent', price: '0.01', currency: 'USD', status: 200, keyid },
  ])
})
