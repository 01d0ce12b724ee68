import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readConfig } from '../../src/config/load.js'
import { BadConfig } from '../../src/config/yaml.js'

const FILE = '/etc/edged/edged.yaml'

const text = (agents: string, more = '') => `
accounts: [{ id: 023e105f4ecef8ad9ca31a8372d0c353, name: Example }]
${more}
zones:
  - id: 9f1839b6152d298aca64c4e906b6d074
    account: 023e105f4ecef8ad9ca31a8372d0c353
    name: example.test
    origin: http://127.0.0.1:9000
    agents: { ${agents} }
`

const agentsOf = (agents: string) => readConfig(text(agents), FILE, {}).zones[0]!.agents

function faults(agents: string, more?: string): string[] {
  try {
    readConfig(text(agents, more), FILE, {})
    return []
  } catch (error) {
    if (!(error instanceof BadConfig)) throw error
    return error.faults.map(({ message }) => message.replace(/^zones\.0\.agents\./, ''))
  }
}

t.test('defaults', async (t) => {
  t.match(agentsOf(''), {
    content_signal: 'ai-train=yes, search=yes, ai-input=yes',
    hint: false,
    robots: false,
    web_bot_auth: { keys: {} },
    access: [],
    mcp: false,
    skills: false,
    api_catalog: false,
  })
  t.strictSame(readConfig(text(''), FILE, {}).agents, { catalogue: null, verify_addresses: false })
})

t.test('files become absolute, and paths of the origin stay', async (t) => {
  const agents = agentsOf(
    'skills: ./skills.json, api_catalog: /api.json, web_bot_auth: { keys: { Signer.test: ./keys.json, b.test: "https://c.test/k" } }',
  )
  t.equal(agents.skills, 'file:/etc/edged/skills.json')
  t.equal(agents.api_catalog, '/api.json')
  t.strictSame(agents.web_bot_auth.keys, { 'signer.test': 'file:/etc/edged/keys.json', 'b.test': 'https://c.test/k' })
})

t.test('faults of access say what to write', async (t) => {
  const access = (entries: string) => faults(`access: [${entries}]`)
  t.strictSame(access('{ who: { name: GPTbot }, do: block }'), [
    'access.0.who.name is no agent of the catalogue: GPTbot, did you mean GPTBot',
  ])
  t.strictSame(access('{ who: { operator: [OpenAI, Antropic] }, do: block }'), [
    'access.0.who.operator.1 is no operator of the catalogue: Antropic, did you mean Anthropic',
  ])
  t.match(access('{ who: { category: ai_crawlers }, do: block }'), [/did you mean ai_crawler$/])
  t.match(access('{ who: { name: Google-Extended }, do: block }'), [/name for robots.txt that no client sends/])
  t.match(access('{ who: { verified: maybe }, do: block }'), [/must be true, false, address or signature/])
  t.match(access('{ who: { name: GPTBot }, do: pay }'), [/^access\.0\.price is required/])
  t.match(access('{ who: { name: GPTBot }, do: pay, price: 0.01 USD }'), [/must be a currency and an amount/])
  t.match(access('{ who: { name: GPTBot }, do: pay, price: USD 0.000 }'), [/must be more than 0/])
  t.match(access('{ who: { name: GPTBot }, do: block, price: USD 1 }'), [/belongs to pay only/])
  t.strictSame(access('{ who: { name: GPTBot }, do: canonical }'), [])
  t.match(access('{ who: { name: GPTBot }, do: canonical, free: [/a] }'), [/belongs to pay only/])
  t.match(access('{ who: {}, do: block }'), [/^access\.0\.who must have/])
})

t.test('an entry that is never reached is a fault', async (t) => {
  const access = (entries: string) => faults(`access: [${entries}]`)
  t.strictSame(access('{ who: { category: ai_crawler }, do: block }, { who: { name: GPTBot }, do: allow }'), [
    'access.1 is never reached: the entries before it fit all its agents',
  ])
  t.strictSame(access('{ who: { name: GPTBot, operator: Google }, do: block }'), [
    'access.0 is never reached: no agent fits all members of who',
  ])
  t.strictSame(
    access(
      '{ who: { name: GPTBot, verified: true }, do: allow }, { who: { name: GPTBot, verified: false }, do: block }, { who: { name: GPTBot, verified: address }, do: block }',
    ),
    ['access.2 is never reached: the entries before it fit all its agents'],
  )
  t.strictSame(access('{ who: { verified: false }, do: block }, { who: { name: signer.test }, do: allow }'), [])
})

t.test('other faults', async (t) => {
  t.match(faults('content_signal: "ai-train=maybe"'), [/must be like/])
  t.match(faults('content_signal: "search=yes, search=no"'), [/has search twice/])
  t.match(faults('web_bot_auth: { keys: { "a b": ./k } }'), [/is not a host name/])
  t.match(faults('web_bot_auth: { keys: { a.test: keys.json } }'), [/must be an https URL, or a file/])
  t.match(faults('', 'agents: { catalogue: ./missing.json }'), [/ENOENT/])
})

t.test('a catalogue adds and replaces agents', async (t) => {
  const file = join(t.testdir(), 'agents.json')
  const entry = {
    name: 'OurBot',
    operator: 'Us',
    category: 'other',
    verified_bot_category: 'Other',
    user_agent: ['OurBot'],
    verify: { cidrs: ['192.0.2.0/24'] },
  }
  const more = `agents: { catalogue: ${file} }`
  writeFileSync(file, JSON.stringify({ agents: [entry] }))
  t.strictSame(faults('access: [{ who: { name: OurBot }, do: allow }, { who: { name: GPTBot }, do: block }]', more), [])
  writeFileSync(file, JSON.stringify({ agents: [{ ...entry, verify: { cidrs: ['192.0.2.0/33'] } }] }))
  t.match(faults('', more), [/verify\/cidrs\/0 must be an address or a network/])
  writeFileSync(file, JSON.stringify({ agents: [{ ...entry, category: 'x' }] }))
  t.match(faults('', more), [/agents\/0\/category must be/])
  writeFileSync(file, '{')
  t.match(faults('', more), [/is not JSON/])
})
