import t, { type Test } from 'tap'
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { catalogueOf } from '../../src/agents/catalogue/catalogue.js'
import { AgentIdentity, type AgentRequest, type IdentityDeps } from '../../src/agents/identity.js'
import { DIRECTORY_TYPE, type DirectoryAnswer } from '../../src/agents/signatures/directories.js'
import { systemClock } from '../../src/core/clock.js'
import { silentLog } from '../../src/core/log.js'

const NOW = 1_795_000_000

/** A signer with a key, whose directory is at its host. */
function signer(host: string) {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const jwk = publicKey.export({ format: 'jwk' }) as { kty: string; crv: string; x: string }
  const keyid = createHash('sha256')
    .update(JSON.stringify({ crv: jwk.crv, kty: jwk.kty, x: jwk.x }))
    .digest('base64url')
  const answer: DirectoryAnswer = {
    status: 200,
    type: DIRECTORY_TYPE,
    headers: {},
    bytes: Buffer.from(JSON.stringify({ keys: [jwk] })),
  }
  const fields = (authority: string, created = NOW, nonce = '') => {
    const parameters = `("@authority" "signature-agent";key="sig1");created=${created};expires=${created + 300};keyid="${keyid}";tag="web-bot-auth"${nonce && `;nonce="${nonce}"`}`
    const base = `"@authority": ${authority}\n"signature-agent";key="sig1": "https://${host}"\n"@signature-params": ${parameters}`
    const signature = sign(null, Buffer.from(base), privateKey).toString('base64')
    return [
      'Signature-Agent',
      `sig1="https://${host}"`,
      'Signature-Input',
      `sig1=${parameters}`,
      'Signature',
      `sig1=:${signature}:`,
    ]
  }
  const signed = (base: string) => sign(null, Buffer.from(base), privateKey).toString('base64')
  return { host, answer, fields, jwk, keyid, sign: signed }
}

function setup(t: Test, deps: Partial<IdentityDeps> = {}) {
  const time = { now: NOW * 1000, monotonic: 0 }
  const clock = { ...systemClock, now: () => time.now, monotonic: () => time.monotonic }
  const identity = new AgentIdentity({
    fetchKeys: async () => await Promise.reject(new Error('no network')),
    fetchList: async () => await Promise.reject(new Error('no network')),
    reverse: async () => await Promise.reject(new Error('no name')),
    resolve: async () => await Promise.reject(new Error('no name')),
    judged: () => undefined,
    clock,
    log: silentLog,
    ...deps,
  })
  t.teardown(() => identity.close())
  const ask = (request: Partial<AgentRequest> & { fields?: string[]; host?: string }) => {
    const { fields, host = 'example.test', ...rest } = request
    return identity.identify({
      userAgent: '',
      clientAddress: '192.0.2.1',
      share: '192.0.2.1',
      keys: {},
      signed: fields && { method: 'GET', scheme: 'https', authority: host, target: '/', fields },
      ...rest,
    })
  }
  return { identity, ask, time }
}

t.test('a User-Agent names an agent that is not verified', async (t) => {
  const { ask } = setup(t)
  const gpt = 'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; gptbot/1.2; +https://openai.com/gptbot'
  t.match(ask({ userAgent: gpt }), {
    name: 'GPTBot',
    operator: 'OpenAI',
    category: 'ai_crawler',
    verified: 'none',
    verifiedBotCategory: '',
    isVerifiedBot: false,
  })
  t.equal(ask({ userAgent: gpt }), ask({ userAgent: gpt }), 'remembered')
  t.equal(ask({ userAgent: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0' }), undefined)
  t.equal(ask({ userAgent: '' }), undefined)
  t.equal(ask({ userAgent: 'Claude-User (claude-code/2.1.0; +https://support.anthropic.com/)' })?.name, 'Claude Code')
  t.equal(ask({ userAgent: 'Precursors/1.0' }), undefined, 'a token that is a word')
  t.equal(ask({ userAgent: 'Cursor/1.0' })?.name, 'Cursor')
  t.equal(ask({ userAgent: `${'x'.repeat(600)} GPTBot` }), undefined, 'only the beginning is searched')
  t.equal(ask({ userAgent: 'Google-Extended' }), undefined, 'a name for robots.txt')
})

t.test('addresses of a catalogue verify', async (t) => {
  const { identity, ask } = setup(t)
  const entry = {
    name: 'OurBot',
    operator: 'Us',
    category: 'other',
    verified_bot_category: 'Security',
    user_agent: ['OurBot'],
    verify: { cidrs: ['198.51.100.0/24', '2001:db8::/32'] },
  }
  identity.configure({ catalogue: catalogueOf(JSON.stringify({ agents: [entry] })), verify_addresses: false })
  t.match(ask({ userAgent: 'OurBot/1', clientAddress: '198.51.100.7' }), {
    verified: 'address',
    verifiedBotCategory: 'Security',
    isVerifiedBot: true,
  })
  t.equal(ask({ userAgent: 'OurBot/1', clientAddress: '2001:db8::7' })?.verified, 'address')
  t.equal(ask({ userAgent: 'OurBot/1', clientAddress: '198.51.101.7' })?.verified, 'none')
  identity.configure({
    catalogue: catalogueOf(JSON.stringify({ agents: [{ ...entry, source: 'check' }] })),
    verify_addresses: true,
  })
  t.equal(ask({ userAgent: 'OurBot/1', clientAddress: '198.51.100.7' })?.verified, 'none', 'not confirmed')
})

t.test('reverse DNS verifies if the name leads back, from the next request on', async (t) => {
  const names: Record<string, string[]> = {
    '192.0.2.1': ['crawl-1.googlebot.com'],
    '192.0.2.2': ['crawl-2.googlebot.com'],
    '192.0.2.3': ['crawl.evilgooglebot.com'],
  }
  let asked = 0
  const { identity, ask } = setup(t, {
    reverse: async (address) => {
      asked++
      return names[address] ?? []
    },
    resolve: async (name) => (name === 'crawl-1.googlebot.com' ? ['192.0.2.1'] : ['192.0.2.99']),
  })
  const seen = (clientAddress: string) => ask({ userAgent: 'Googlebot/2.1', clientAddress })?.verified
  t.equal(seen('192.0.2.1'), 'none')
  t.equal(asked, 0, 'off by default')
  identity.configure({ catalogue: catalogueOf('{"agents":[]}'), verify_addresses: true })
  const all = () => ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4'].map(seen)
  t.strictSame(all(), ['none', 'none', 'none', 'none'])
  await identity.reverseNames.settled()
  t.strictSame(all(), ['address', 'none', 'none', 'none'])
  t.equal(asked, 4, 'answers are remembered')
  t.equal(ask({ userAgent: 'Firefox', clientAddress: '192.0.2.5' }), undefined)
  t.equal(asked, 4, 'only for agents with suffixes')
})

t.test('published lists verify, and a list that shrinks is not used', async (t) => {
  let list = JSON.stringify({ prefixes: [{ ipv4Prefix: '192.0.2.0/28' }, { ipv6Prefix: '2001:db8::/64' }] })
  const { identity, ask } = setup(t, { fetchList: async () => Buffer.from(list) })
  identity.configure({ catalogue: catalogueOf('{"agents":[]}'), verify_addresses: true })
  await new Promise(setImmediate)
  const seen = (clientAddress: string) => ask({ userAgent: 'GPTBot/1', clientAddress })?.verified
  t.equal(seen('192.0.2.1'), 'address')
  t.equal(seen('192.0.2.100'), 'none')
  list = ''
  t.equal(seen('192.0.2.1'), 'address')
})

t.test('a signature names its signer, whatever the User-Agent says', async (t) => {
  const meta = signer('www.meta.com')
  const stranger = signer('signer.test')
  const { identity, ask, time } = setup(t, {
    fetchKeys: async ({ host }) => (host === 'www.meta.com' ? meta.answer : stranger.answer),
  })
  const fields = meta.fields('example.test')
  const gpt = 'GPTBot/1.0'
  t.match(ask({ userAgent: gpt, fields }), { name: 'GPTBot', verified: 'none' }, 'its keys are not there yet')
  await identity.directories.settled()
  t.match(ask({ userAgent: gpt, fields }), {
    name: 'Meta-ExternalAgent',
    verified: 'signature',
    verifiedBotCategory: 'AI Crawler',
    isVerifiedBot: true,
  })
  t.match(ask({ userAgent: gpt, fields, host: 'other.test' }), { name: 'GPTBot', verified: 'none' }, 'for another host')
  const unknown = stranger.fields('example.test')
  ask({ fields: unknown })
  await identity.directories.settled()
  t.match(ask({ fields: unknown }), {
    name: 'signer.test',
    operator: 'signer.test',
    category: 'other',
    verified: 'signature',
    verifiedBotCategory: '',
    isVerifiedBot: false,
  })
  time.now += 400_000
  t.match(ask({ userAgent: gpt, fields }), { name: 'GPTBot', verified: 'none' }, 'expired')
})

t.test('keys of the operator take the place of a directory', async (t) => {
  const own = signer('signer.test')
  const { identity, ask } = setup(t)
  const file = `file:${t.testdir({ 'keys.json': JSON.stringify(own.jwk) })}/keys.json`
  const keys = { 'signer.test': file }
  identity.directories.preload([file])
  await identity.directories.settled()
  t.match(ask({ fields: own.fields('example.test'), keys }), {
    name: 'signer.test',
    isVerifiedBot: true,
    verifiedBotCategory: 'Other',
  })
  t.equal(ask({ fields: own.fields('example.test') }), undefined, 'another zone')
})

t.test('directories', async (t) => {
  const one = signer('signer.test')
  let answer: (() => Promise<DirectoryAnswer>) | undefined = async () => one.answer
  let fetches = 0
  const { identity, ask, time } = setup(t, {
    fetchKeys: async () => {
      fetches++
      return await (answer?.() ?? Promise.reject(new Error('down')))
    },
  })
  const seen = async () => {
    ask({ fields: one.fields('example.test') })
    await identity.directories.settled()
    return ask({ fields: one.fields('example.test') })?.verified
  }
  t.equal(await seen(), 'signature')
  t.equal(fetches, 1)
  time.monotonic += 3_700_000
  answer = undefined
  t.equal(await seen(), 'signature', 'an outage revokes nothing')
  t.equal(fetches, 2)
  t.equal(await seen(), 'signature')
  t.equal(fetches, 2, 'not asked again at once')
  time.monotonic += 20_000
  const two = signer('signer.test')
  answer = async () => two.answer
  t.equal(await seen(), undefined, 'a key that is gone verifies nothing')
  t.equal(fetches, 3)
  answer = async () => one.answer
  t.equal(await seen(), undefined)
  t.equal(fetches, 3, 'one further fetch a minute for an unknown key')
  time.monotonic += 61_000
  t.equal(await seen(), 'signature')
})

t.test('many names of directories and many signatures of one client are limited', async (t) => {
  let fetches = 0
  const open: (() => void)[] = []
  const { identity, ask, time } = setup(t, {
    fetchKeys: async () => {
      fetches++
      return await new Promise<DirectoryAnswer>((_resolve, reject) => open.push(() => reject(new Error('slow'))))
    },
  })
  for (let n = 0; n < 100; n++) ask({ fields: signer(`s${n}.test`).fields('example.test') })
  t.equal(fetches, 4, 'in flight')
  t.equal(identity.directories.size, 60, 'in a minute')
  for (let n = 0; n < 100; n++) ask({ fields: signer(`t${n}.test`).fields('example.test'), share: `198.51.100.${n}` })
  t.equal(fetches, 8, 'in flight of all clients')
  time.monotonic += 61_000
  for (let n = 0; n < 2000; n++)
    ask({
      fields: signer('a.test')
        .fields('example.test')
        .map((v) => v.replaceAll('a.test', `u${n}.test`)),
      share: `c${n}`,
    })
  t.equal(identity.directories.size, 1000)
  for (const end of open) end()
  await identity.directories.settled()

  const own = signer('own.test')
  const { identity: second, ask: askSecond } = setup(t, { fetchKeys: async () => own.answer })
  askSecond({ fields: own.fields('example.test') })
  await second.directories.settled()
  const verified = Array.from({ length: 60 }, (_, n) => askSecond({ fields: own.fields('example.test', NOW, `n${n}`) }))
  t.equal(verified.filter(Boolean).length, 50, 'verifications in a second')
})

t.test('slow directories of liars delay no directory of the catalogue', async (t) => {
  const known = signer('www.meta.com')
  let slow = 0
  const { ask } = setup(t, {
    fetchKeys: async ({ host }) => {
      if (host === 'www.meta.com') return known.answer
      slow++
      return await new Promise<DirectoryAnswer>(() => undefined)
    },
  })
  const liar = signer('x')
  const lie = (host: string, share: string) => {
    const fields = liar.fields('example.test').map((field) => field.replaceAll('https://x', `https://${host}`))
    return ask({ fields, share })
  }
  for (let at = 0; at < 20; at++) t.equal(lie(`${at}.slow.test`, `192.0.2.${at}`), undefined)
  t.equal(slow, 8, 'all places for fetches are taken')
  t.equal(ask({ fields: known.fields('example.test') }), undefined, 'the first request')
  await new Promise(setImmediate)
  t.match(ask({ fields: known.fields('example.test', NOW, 'a') }), { name: 'Meta-ExternalAgent' })
})

t.test('directories with keys of liars do not displace those of the catalogue', async (t) => {
  const known = signer('www.meta.com')
  const liar = signer('x')
  const { identity, ask } = setup(t, {
    fetchKeys: async ({ host }) => (host === 'www.meta.com' ? known.answer : liar.answer),
  })
  ask({ fields: known.fields('example.test') })
  await identity.directories.settled()
  for (let at = 0; at < 1100; at++) {
    const fields = liar.fields('example.test').map((field) => field.replaceAll('https://x', `https://${at}.fast.test`))
    ask({ fields, share: `198.51.100.${at % 250}` })
    // The keys have arrived then.
    await new Promise(setImmediate)
  }
  t.equal(identity.directories.size, 1000)
  t.match(ask({ fields: known.fields('example.test', NOW, 'b') }), { name: 'Meta-ExternalAgent' }, 'its keys are kept')
})

t.test('a key set at another address of a known host is not the agent', async (t) => {
  const known = signer('www.meta.com')
  const { identity, ask } = setup(t, { fetchKeys: async () => ({ ...known.answer, type: 'application/json' }) })
  const value = 'sig1="https://www.meta.com/upload.json";type=jwks_uri'
  const parameters = `("@authority" "signature-agent";key="sig1");created=${NOW};expires=${NOW + 300};keyid="${known.keyid}";tag="web-bot-auth"`
  const base = `"@authority": example.test\n"signature-agent";key="sig1": ${value.slice(5)}\n"@signature-params": ${parameters}`
  const fields = [
    'Signature-Agent',
    value,
    'Signature-Input',
    `sig1=${parameters}`,
    'Signature',
    `sig1=:${known.sign(base)}:`,
  ]
  ask({ fields })
  await identity.directories.settled()
  const agent = { name: 'www.meta.com', verified: 'signature', isVerifiedBot: false, verifiedBotCategory: '' }
  t.match(ask({ fields, userAgent: 'meta-externalagent/1.1' }), agent)
  const keys = { 'www.meta.com': 'https://www.meta.com/upload.json' }
  t.match(
    ask({ fields, keys }),
    { name: 'Meta-ExternalAgent', isVerifiedBot: true },
    'the keys that the operator gives',
  )
})
