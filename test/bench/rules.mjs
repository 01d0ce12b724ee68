// The rules language: CPU time per request for 10, 100 and 1,000 rules with the index, as a plain pass over the compiled
// filters, and in two npm expression engines; loading; patterns made to hurt. One process, engines in turn.
//
//   npm run bench -- rules [--rounds 5]
import { compile, Getters, parse, parseIp, RuleIndex, indexedRule, SCHEME } from '../../dist/src/expr/index.js'
import { parseRegex } from '../../dist/src/expr/regex/index.js'
import { median, sized, table } from './measure.mjs'
import { hasPackage } from './ports.mjs'
import { requests, rules } from './rules-set.mjs'

const ROUNDS = process.argv.includes('--rounds')
  ? Number(process.argv[process.argv.indexOf('--rounds') + 1])
  : sized(5, 1)
const SLICE_MS = sized(200, 20)

const inNetwork = (ip, network) => {
  const [base, bits] = network.split('/')
  const size = 2 ** (32 - bits)
  return Math.floor(parseIp(ip) / size) === Math.floor(parseIp(base) / size)
}

const getters = new Getters(SCHEME, {
  'http.host': (request) => request.host,
  'http.request.uri.path': (request) => request.path,
  'http.request.method': (request) => request.method,
  'http.user_agent': (request) => request.ua,
  'ip.src.country': (request) => request.country,
  ssl: (request) => request.ssl,
  'cf.edge.server_port': (request) => request.port,
  'ip.src': (request) => parseIp(request.ip),
  'http.request.headers': (request) => new Map([['x-tag', request.tags]]),
})

function indexed(set) {
  const index = new RuleIndex(set.map(({ edged }) => indexedRule(parse(edged))))
  return (request) => index.matching(getters.context(request))
}

function linear(set) {
  const filters = set.map(({ edged }) => compile(parse(edged)))
  return (request) => {
    const context = getters.context(request)
    const found = []
    for (let rule = 0; rule < filters.length; rule++) if (filters[rule](context)) found.push(rule)
    return found
  }
}

async function cel(set) {
  const { Environment } = await import('@marcbachmann/cel-js')
  const environment = new Environment({ unlistedVariablesAreDyn: true })
  environment.registerFunction('inNetworks(string, list<string>): bool', (ip, list) =>
    list.some((n) => inNetwork(ip, n)),
  )
  const programs = set.map((rule) => environment.parse(rule.cel))
  return (request) => programs.flatMap((program, rule) => (program(request) ? [rule] : []))
}

async function filtrex(set) {
  const { compileExpression } = await import('filtrex')
  const extraFunctions = {
    startsWith: (text, start) => text.startsWith(start),
    contains: (text, part) => text.includes(part),
    anyContains: (list, part) => list.some((text) => text.includes(part)),
    inNetworks: (ip, list) => list.split(' ').some((network) => inNetwork(ip, network)),
  }
  const programs = set.map((rule) => compileExpression(rule.filtrex, { extraFunctions }))
  return (request) => programs.flatMap((program, rule) => (Number(program(request)) === 1 ? [rule] : []))
}

/** CPU nanoseconds per request in one slice of time: others on the machine count less than by the clock. */
function slice(run) {
  const start = performance.now()
  const before = process.cpuUsage()
  let count = 0
  do {
    for (const request of requests) run(request)
    count += requests.length
  } while (performance.now() - start < SLICE_MS)
  const { user, system } = process.cpuUsage(before)
  return ((user + system) * 1000) / count
}

const PEERS = Object.entries({ 'cel-js': ['@marcbachmann/cel-js', cel], filtrex: ['filtrex', filtrex] }).filter(
  ([name, [module]]) => hasPackage(module) || console.log(`${name}: not installed`),
)

const rows = []
for (const size of [10, 100, 1000]) {
  const set = rules(size)
  const engines = { indexed: indexed(set), linear: linear(set) }
  for (const [name, [, load]] of PEERS) engines[name] = await load(set)
  for (const request of requests) {
    const responses = Object.entries(engines).map(([name, run]) => [name, run(request).join()])
    const different = responses.find(([, response]) => response !== responses[0][1])
    if (different)
      throw new Error(`${different[0]} says ${different[1]}, indexed ${responses[0][1]} for ${request.path}`)
  }
  const times = Object.fromEntries(Object.keys(engines).map((name) => [name, []]))
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, run] of Object.entries(engines)) times[name].push(slice(run))
  }
  const base = median(times.indexed)
  for (const [name, found] of Object.entries(times)) {
    const ns = median(found)
    rows.push({
      rules: size,
      engine: name,
      'us/request': (ns / 1000).toFixed(2),
      'ns/rule': (ns / size).toFixed(1),
      'x indexed': (ns / base).toFixed(1),
    })
  }
}
table(rows)

const texts = rules(1000)
const loads = Array.from({ length: ROUNDS }, () => {
  const before = process.cpuUsage()
  indexed(texts)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
})
console.log(`\nloading 1,000 rules, CPU: first ${loads[0].toFixed(0)} ms, median ${median(loads).toFixed(0)} ms\n`)

const EVIL = [
  ['(a+)+$', 'a'.repeat(100_000) + 'b'],
  ['^(?:[a-z]+)*@', 'a'.repeat(100_000)],
  ['(a|aa)+$', 'a'.repeat(100_000) + 'b'],
  ['(.*)*x', 'a'.repeat(100_000)],
  ['(a?){50}a{50}b', 'a'.repeat(100_000)],
  ['(x+x+)+y', 'x'.repeat(100_000)],
  ['(a|b)*a(a|b){12}c', 'ab'.repeat(50_000)],
  ['\\s+$', ' '.repeat(100_000) + 'x'],
  ['([a-zA-Z0-9])(([\\-.]|[_]+)?([a-zA-Z0-9]+))*@', 'a1-'.repeat(33_000)],
  ['(?:(?:a|b|ab)*)*c', 'ab'.repeat(50_000)],
]
table(
  EVIL.map(([pattern, text]) => {
    const regex = parseRegex(pattern)
    const before = process.cpuUsage()
    const found = regex.test(text)
    const { user, system } = process.cpuUsage(before)
    return { pattern, engine: regex.engine, found, 'CPU ms': ((user + system) / 1000).toFixed(1) }
  }),
)
