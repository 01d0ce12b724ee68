import t, { type Test } from 'tap'
import type { LogRecord } from '../../../src/core/emit.js'
import type { SpentSignatures } from '../../../src/edge/agents/spent-signatures.js'
import { Signer, testIdentity } from '../../helpers/agents.js'
import { startOrigin, startProxy, testZone } from '../../helpers/proxy.js'

const signer = new Signer()
const { keyid } = signer

/** Returns the fields of a request that `www.meta.com` signs, with the other fields among the components. */
const signed = (authority: string, others: Record<string, string> = {}, nonce = '1') =>
  signer.fields(authority, { fields: others, nonce })

async function setup(t: Test, access: string) {
  const agents = testIdentity(t, { fetchKeys: signer.fetchKeys })
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

t.test(
  'a signature is released if another stage responds, and nothing is sold if that cannot be recorded',
  async (t) => {
    const signer = new Signer()
    const released: string[] = []
    let isDown = false
    const spent: SpentSignatures = {
      spend: async () => (isDown ? await Promise.reject(new Error('the disk is full')) : undefined),
      release: async (id) => void released.push(id),
    }
    const agents = testIdentity(t, { fetchKeys: signer.fetchKeys })
    const origin = await startOrigin(t, (_, response) => response.end('page'))
    const members = `hostnames: ['*'], agents: { access: [{ who: { operator: Meta }, do: pay, price: USD 1 }] },
    paths: [{ path: '/closed', auth: { basic: { realm: R, users: { a: '$2y$04$0123456789012345678901uMrkgMqD5Z0pbZk2bJhQ8yYcPJ7xQb6' } } } }]`
    const proxy = await startProxy(t, [testZone(origin.url, members)], {
      yaml: '{ trusted_proxies: [127.0.0.1] }',
      agents,
      spent,
    })
    const authority = `127.0.0.1:${proxy.port}`
    const buy = async (path: string, nonce: string) =>
      await fetch(proxy.url + path, {
        headers: {
          'x-forwarded-proto': 'https',
          ...signer.fields(authority, { fields: { 'crawler-max-price': 'USD 2' }, nonce }),
        },
      })
    await buy('/robots.txt', '1')
    await agents.directories.settled()
    t.equal((await buy('/closed', '2')).status, 401)
    t.equal(released.length, 1, 'authentication has responded')
    const page = await buy('/open', '3')
    t.equal(page.headers.get('crawler-charged'), 'USD 1')
    await page.text()
    t.equal(released.length, 1)
    isDown = true
    const refused = await buy('/open', '4')
    t.equal(refused.status, 503)
    t.equal(refused.headers.get('crawler-charged'), null)
  },
)
