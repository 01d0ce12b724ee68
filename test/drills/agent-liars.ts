import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { Agent, createServer, request as sendRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { Signer } from '../helpers/agents.js'
import { CA_FILE, tlsFile } from '../helpers/tls.js'
import { BAD_DIRECTORIES, startDirectories } from './agent-directories.js'
import { table } from '../bench/measure.mjs'

const ZONE = 'b'.repeat(32)
const HOST = 'agents.test'
/** Agents of each way of verification. Each has one client that is the agent and one that lies. */
const PAIRS = 50
/** Rounds until each process of the proxy has the keys. */
const MAX_ROUNDS = 40
const SOLD = 'USD 0.02'
const OFFER = { 'crawler-max-price': SOLD }
const QUIET = 500
const AT_A_TIME = 8
const FLOOD_CLIENTS = 60
const FLOOD_EACH = 12

interface Got {
  readonly status: number
  readonly type: string
  readonly charged: boolean
  readonly ms: number
}

/** What a verified agent gets, by what `access` says about its group. */
const GROUPS = ['Open', 'Markdown', 'Canonical', 'Sold'] as const
type Group = (typeof GROUPS)[number]

const has: Readonly<Record<Group, (got: Got) => boolean>> = {
  Open: ({ status, type }) => status === 200 && type.startsWith('text/html'),
  Markdown: ({ status, type }) => status === 200 && type.startsWith('text/markdown'),
  Canonical: ({ status }) => status === 301,
  Sold: ({ status, charged }) => status === 200 && charged,
}

interface Lied {
  readonly headers: Record<string, string>
}

const SIGNED_LIES: Readonly<
  Record<string, (lie: { signer: Signer; own: Signer; port: number; nonce: string }) => Lied>
> = {
  'no signature': () => ({ headers: OFFER }),
  'for another host': ({ signer, nonce }) => ({ headers: signer.fields('other.test', { fields: OFFER, nonce }) }),
  expired: ({ signer, nonce }) => ({
    headers: signer.fields(HOST, { fields: OFFER, nonce, created: Math.floor(Date.now() / 1000) - 600, lifetime: 60 }),
  }),
  'not yet valid': ({ signer, nonce }) => ({
    headers: signer.fields(HOST, { fields: OFFER, nonce, created: Math.floor(Date.now() / 1000) + 600 }),
  }),
  'valid for a year': ({ signer, nonce }) => ({
    headers: signer.fields(HOST, { fields: OFFER, nonce, lifetime: 31_536_000 }),
  }),
  'another key': ({ signer, own, nonce }) => {
    const fields = own.fields(HOST, { fields: OFFER, nonce })
    return { headers: replaced(fields, own, signer.origin, signer.keyid) }
  },
  'key of the agent, own directory': ({ signer, own, nonce }) => ({
    headers: replaced(signer.fields(HOST, { fields: OFFER, nonce }), signer, own.origin, signer.keyid),
  }),
  'own directory': ({ own, nonce }) => ({ headers: own.fields(HOST, { fields: OFFER, nonce }) }),
  'key set at the host of the agent': ({ signer, own, nonce }) => ({
    headers: Object.fromEntries(
      Object.entries(own.fields(HOST, { fields: OFFER, nonce })).map(([name, value]) => [
        name,
        name === 'signature-agent' ? `a="${signer.origin}/upload.json";type=jwks_uri` : value,
      ]),
    ),
  }),
  'plain HTTP': ({ signer, nonce }) => ({
    headers: { ...signer.fields(HOST, { fields: OFFER, nonce }), 'x-forwarded-proto': 'http' },
  }),
  'another algorithm': ({ signer, nonce }) => {
    const { 'signature-input': input = '', ...rest } = signer.fields(HOST, { fields: OFFER, nonce })
    return { headers: { ...rest, 'signature-input': `${input};alg="hmac-sha256"` } }
  },
  'two agents': ({ signer, own, nonce }) => {
    const { 'signature-agent': agent = '', ...rest } = own.fields(HOST, { fields: OFFER, nonce })
    return { headers: { ...rest, 'signature-agent': `${agent}, b="${signer.origin}"` } }
  },
}

const ADDRESS_LIES: Readonly<Record<string, (address: string) => Record<string, string>>> = {
  'another address': () => ({ 'x-forwarded-for': '203.0.113.9' }),
  'a forged X-Forwarded-For': (address) => ({ 'x-forwarded-for': `${address}, 203.0.113.9` }),
  'a forged CF-Connecting-IP': (address) => ({ 'cf-connecting-ip': address, 'x-forwarded-for': '203.0.113.9' }),
  'a forged True-Client-IP': (address) => ({
    'true-client-ip': address,
    'x-real-ip': address,
    'x-forwarded-for': '203.0.113.9',
  }),
  'a forged Forwarded': (address) => ({ forwarded: `for=${address}`, 'x-forwarded-for': '203.0.113.9' }),
  'a forged verdict': () => ({ 'cf-verified-bot': 'true', 'x-forwarded-for': '203.0.113.9' }),
}

function replaced(fields: Record<string, string>, from: Signer, origin: string, keyid: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      value.replaceAll(from.origin, origin).replaceAll(from.keyid, keyid),
    ]),
  )
}

/** The built daemon, as `daemon.mjs` starts it. */
interface DaemonParts {
  readonly account: string
  readonly folder: string
  /** A request that takes longer has waited for a key directory. */
  readonly maxMs: number
  readonly start: (origin: string, options: Readonly<Record<string, string>>) => Promise<{ readonly proxy: string }>
}

/** Returns the failures of the drill. */
export async function agentLiars({ account, folder, maxMs, start }: DaemonParts): Promise<string[]> {
  const origin = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' })
    response.end(`<!doctype html><title>T</title><link rel=canonical href="/page"><body><h1>${request.url}</h1>`)
  }).listen(0, '127.0.0.1')
  await once(origin, 'listening')
  const keySets = new Map<string, Signer>()
  const uploads = new Map<string, Signer>()
  const directories = await startDirectories({ key: tlsFile('key.pem'), cert: tlsFile('cert.pem') }, (host, path) => {
    const signer = path === '/upload.json' ? uploads.get(host) : keySets.get(host)
    return signer && { keys: [signer.jwk] }
  })
  const at = (name: string) => `https://${name}.receiver.test:${directories.port}`
  const numbers = Array.from({ length: PAIRS }, (_, number) => number)
  const signedAgents = numbers.map((number) => ({
    name: `Signed-${number}`,
    group: GROUPS[number % GROUPS.length]!,
    signer: new Signer(at(`agent-${number}`)),
    liar: new Signer(at(`liar-${number}`)),
  }))
  for (const [number, { signer, liar }] of signedAgents.entries()) {
    keySets.set(`agent-${number}.receiver.test`, signer)
    keySets.set(`liar-${number}.receiver.test`, liar)
    uploads.set(`agent-${number}.receiver.test`, liar)
  }
  const addressAgents = numbers.map((number) => ({
    name: `Address-${number}`,
    group: GROUPS[number % (GROUPS.length - 1)]!,
    address: `198.18.${number}.7`,
  }))
  const entry = (name: string, group: string, verify: object) => ({
    name,
    operator: group,
    category: 'ai_crawler',
    verified_bot_category: 'AI Crawler',
    user_agent: [`${name}-bot`],
    word: true,
    verify,
  })
  writeFileSync(
    join(folder, 'agents.json'),
    JSON.stringify({
      agents: [
        ...signedAgents.map(({ name, group, signer }) => entry(name, group, { web_bot_auth: [signer.origin] })),
        ...addressAgents.map(({ name, group }, number) => entry(name, group, { cidrs: [`198.18.${number}.0/24`] })),
      ],
    }),
  )
  const kinds = Object.keys(BAD_DIRECTORIES)
  const bad = Array.from(
    { length: FLOOD_CLIENTS * FLOOD_EACH },
    (_, number) => `bad-${number % kinds.length}-${number}`,
  )
  const names = [...keySets.keys(), ...bad.map((name) => `${name}.receiver.test`)]
  const isPrivate = (name: string) => /-(?:\d*)[05]$/.test(name) && name.startsWith('bad-')
  const addressOf = (name: string) => (isPrivate(name.split('.', 1)[0]!) ? '10.255.255.1' : '127.0.0.1')
  const daemon = await start('http://127.0.0.1:9', {
    proxy: '  trusted_proxies: [127.0.0.1]',
    more: `processes: 2
agents: { catalogue: ./agents.json }
egress:
  allow_cidrs: ["127.0.0.1/32:${directories.port}"]
  ca_file: ${CA_FILE}
  resolver_overrides: { ${names.map((name) => `"${name}": ["${addressOf(name)}"]`).join(', ')} }`,
    zones: `  - id: ${ZONE}
    account: ${account}
    name: ${HOST}
    origin: "http://127.0.0.1:${(origin.address() as AddressInfo).port}"
    settings: { content_converter: on }
    agents:
      access:
        - { who: { operator: Sold, verified: signature }, do: pay, price: ${SOLD} }
        - { who: { operator: Open, verified: true }, do: allow }
        - { who: { operator: Markdown, verified: true }, do: markdown }
        - { who: { operator: Canonical, verified: true }, do: canonical }
        - { who: { category: [ai_crawler, other] }, do: block }`,
  })
  const agent = new Agent({ keepAlive: true })
  const url = new URL(daemon.proxy)
  const get = async (headers: Record<string, string>): Promise<Got> => {
    const started = performance.now()
    return await new Promise((resolve, reject) => {
      const sent = sendRequest(
        {
          host: url.hostname,
          port: url.port,
          path: '/duplicate',
          agent,
          headers: { host: HOST, 'x-forwarded-proto': 'https', ...headers },
        },
        (response) => {
          const { statusCode: status = 0, headers: got } = response
          response.on('end', () =>
            resolve({
              status,
              type: got['content-type'] ?? '',
              charged: got['crawler-charged'] === SOLD,
              ms: performance.now() - started,
            }),
          )
          response.resume()
        },
      )
      sent.on('error', reject)
      sent.end()
    })
  }

  const failures: string[] = []
  const rows: Record<string, unknown>[] = []
  let nonce = 0
  const next = () => String(++nonce)

  // The directories of the catalogue are asked for, while those of liars take all that they get.
  const browse = async () => await get({ 'user-agent': 'Mozilla/5.0', 'x-forwarded-for': '192.0.2.1' })
  // The first requests load code.
  await inTurn(Array.from({ length: QUIET }), browse)
  const quiet = await inTurn(Array.from({ length: QUIET }), browse)
  const flood = inTurn([...bad.entries()], async ([number, name]) => {
    const signer = new Signer(at(name))
    const client = `203.0.${Math.floor((number % FLOOD_CLIENTS) / 250)}.${number % FLOOD_CLIENTS}`
    return await get({ ...signer.fields(HOST, { nonce: next() }), 'user-agent': 'Liar/1', 'x-forwarded-for': client })
  })
  const beside = inTurn(Array.from({ length: QUIET }), browse)
  const rounds: number[] = []
  const honest = await inTurn([...signedAgents.entries()], async ([number, { name, group, signer }]) => {
    for (let round = 1; round <= MAX_ROUNDS; round++) {
      const fields = signer.fields(HOST, { fields: OFFER, nonce: next() })
      const got = await get({ ...fields, 'user-agent': `${name}-bot/1.0`, 'x-forwarded-for': `198.51.100.${number}` })
      if (!has[group](got)) continue
      rounds.push(round)
      return got
    }
    failures.push(`${name} was not verified within ${MAX_ROUNDS} requests`)
    return undefined
  })
  const flooded = await flood
  const others = await beside
  if (flooded.some(({ status }) => status !== 200 && status !== 403)) failures.push('a signature of a liar is an error')
  const row = (what: string, got: readonly (Got | undefined)[], more: object = {}) => {
    const times = got.flatMap((one) => (one ? [one.ms] : [])).sort((a, b) => a - b)
    const ms = (part: number) => Math.round(times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0)
    rows.push({
      requests: what,
      count: got.length,
      wrong: 0,
      'p50 ms': ms(0.5),
      'p99 ms': ms(0.99),
      'max ms': ms(1),
      ...more,
    })
    if (ms(1) > maxMs) failures.push(`${what}: one took ${ms(1)} ms`)
  }
  row('browsers, before', quiet)
  row(`signed by ${kinds.length + 1} kinds of bad directories`, flooded)
  row('browsers, meanwhile', others)
  row('agents with signatures, meanwhile', honest, { wrong: honest.filter((got) => got === undefined).length })
  console.log(`most requests of a new signer until it was verified: ${Math.max(...rounds)}`)

  // Each agent and its liar.
  const lies = new Map<string, { count: number; wrong: number; took: Got[] }>()
  const lied = (what: string, got: Got, group: Group) => {
    const seen = lies.get(what) ?? { count: 0, wrong: 0, took: [] }
    seen.count++
    seen.took.push(got)
    if (has[group](got)) {
      seen.wrong++
      failures.push(`a liar got what a verified agent of ${group} gets: ${what}`)
    }
    lies.set(what, seen)
  }
  for (const [number, { name, group, signer, liar }] of signedAgents.entries()) {
    const kind = Object.keys(SIGNED_LIES)[number % Object.keys(SIGNED_LIES).length]!
    // Twice, because the directory of a liar that has keys is read after the first request.
    for (let time = 0; time < 4; time++) {
      const { headers } = SIGNED_LIES[kind]!({ signer, own: liar, port: directories.port, nonce: next() })
      lied(kind, await get({ 'user-agent': `${name}-bot/1.0`, 'x-forwarded-for': '203.0.113.8', ...headers }), group)
    }
  }
  for (const [number, { name, group, address }] of addressAgents.entries()) {
    const kind = Object.keys(ADDRESS_LIES)[number % Object.keys(ADDRESS_LIES).length]!
    const agentGot = await get({ 'user-agent': `${name}-bot/1.0`, 'x-forwarded-for': address })
    if (!has[group](agentGot)) failures.push(`${name} did not get what ${group} says: ${agentGot.status}`)
    lied(kind, await get({ 'user-agent': `${name}-bot/1.0`, ...ADDRESS_LIES[kind]!(address) }), group)
  }
  for (const [what, { count, wrong, took }] of lies) row(`lie: ${what}`, took, { count, wrong })

  // A signature that pays is sent many times at once, to both processes.
  const buyers = signedAgents.filter(({ group }) => group === 'Sold')
  const bought = await Promise.all(
    buyers.map(async ({ name, signer }) => {
      const fields = { ...signer.fields(HOST, { fields: OFFER, nonce: next() }), 'user-agent': `${name}-bot/1.0` }
      return await Promise.all(
        Array.from({ length: 20 }, async () => await get({ ...fields, 'x-forwarded-for': '198.51.100.200' })),
      )
    }),
  )
  // A process that does not have the keys of the agent yet refuses it.
  const wrong = bought.filter((all) => {
    const sold = all.filter(({ charged }) => charged).length
    return sold > 1 || (sold === 0 && all.some(({ status }) => status === 402))
  })
  if (wrong.length > 0) failures.push(`${wrong.length} signatures paid never, or more than once`)
  row('one signature for 20 requests at a time', bought.flat(), { wrong: wrong.length })

  table(rows)
  agent.destroy()
  directories.close()
  origin.closeAllConnections()
  origin.close()
  return failures
}

/** Acts on all items, a few at a time. */
async function inTurn<T, R>(items: readonly T[], act: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  let next = 0
  await Promise.all(
    Array.from({ length: AT_A_TIME }, async () => {
      while (next < items.length) {
        const at = next++
        results[at] = await act(items[at]!)
      }
    }),
  )
  return results
}
