// Recognition of agents, and the hint of a page: CPU us for each, in one process and in turn.
//
//   npm run bench -- agents [--rounds 7] [--requests 5000]
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { AgentIdentity } from '../../dist/src/agents/identity.js'
import { DIRECTORY_TYPE } from '../../dist/src/agents/signatures/directories.js'
import { systemClock } from '../../dist/src/core/clock.js'
import { silentLog } from '../../dist/src/core/log.js'
import { hintOf } from '../../dist/src/edge/markdown/hint.js'
import { Insertion } from '../../dist/src/edge/markdown/insertion.js'
import { cpuSeconds, digits, median, sized, table } from './measure.mjs'

const option = (name, fallback) =>
  process.argv.includes(name) ? Number(process.argv[process.argv.indexOf(name) + 1]) : fallback
const ROUNDS = option('--rounds', sized(7, 1))
const REQUESTS = option('--requests', sized(5000, 50))
const HOST = 'example.test'
const SIGNER = 'https://signer.test'
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36'

/** Returns what creates signed requests with a key, each with another signature. */
function signer(type) {
  const { privateKey, publicKey } =
    type === 'RSA-PSS' ? generateKeyPairSync('rsa', { modulusLength: 2048 }) : generateKeyPairSync('ed25519')
  const { kty, crv, x, n, e } = publicKey.export({ format: 'jwk' })
  const jwk = kty === 'RSA' ? { e, kty, n } : { crv, kty, x }
  const keyid = createHash('sha256').update(JSON.stringify(jwk)).digest('base64url')
  const created = Math.floor(Date.now() / 1000)
  let number = 0
  const fields = () => {
    const parameters = `("@authority" "signature-agent";key="a");created=${created};expires=${created + 3600};keyid="${keyid}";nonce="${number++}";tag="web-bot-auth"`
    const base = Buffer.from(
      `"@authority": ${HOST}\n"signature-agent";key="a": "${SIGNER}"\n"@signature-params": ${parameters}`,
    )
    const signature =
      kty === 'RSA'
        ? sign('sha512', base, { key: privateKey, padding: 6, saltLength: 64 })
        : sign(null, base, privateKey)
    return [
      'host',
      HOST,
      'signature-agent',
      `a="${SIGNER}"`,
      'signature-input',
      `s=${parameters}`,
      'signature',
      `s=:${signature.toString('base64')}:`,
    ]
  }
  return { jwk, fields }
}

async function identityOf(jwk) {
  const identity = new AgentIdentity({
    fetchKeys: async () => ({
      status: 200,
      type: DIRECTORY_TYPE,
      headers: {},
      bytes: Buffer.from(JSON.stringify({ keys: [jwk] })),
    }),
    fetchList: async () => Buffer.alloc(0),
    reverse: async () => [],
    resolve: async () => [],
    judged: () => undefined,
    clock: systemClock,
    log: silentLog,
  })
  let client = 0
  // Each client may have 50 signatures verified in a second.
  const ask = (fields, userAgent = '') =>
    identity.identify({
      userAgent,
      clientAddress: '192.0.2.1',
      share: `client ${Math.floor(client++ / 40)}`,
      keys: {},
      signed: fields && { method: 'GET', scheme: 'https', authority: HOST, target: '/', fields },
    })
  return { identity, ask }
}

/** CPU us of one of `count` calls, over all rounds. `prepare` is not measured. */
async function cost(count, prepare, act) {
  const results = []
  for (let round = 0; round < ROUNDS; round++) {
    const input = prepare()
    const seconds = await cpuSeconds(() => {
      for (const one of input) act(one)
    })
    results.push((seconds / count) * 1e6)
  }
  return median(results)
}

const rows = []
const row = (what, us, asked) => rows.push({ what, 'CPU us': digits(us, 2), asked })
const some = (create) => () => Array.from({ length: REQUESTS }, (_, at) => create(at))

for (const type of ['Ed25519', 'RSA-PSS']) {
  const { jwk, fields } = signer(type)
  const { identity, ask } = await identityOf(jwk)
  ask(fields())
  await identity.directories.settled()
  if (ask(fields())?.verified !== 'signature') throw new Error(`${type} is not verified`)
  row(`a new signature, ${type}`, await cost(REQUESTS, some(fields), (one) => ask(one)), 'at most 130')
  const known = fields()
  ask(known)
  row(
    `a signature that was seen, ${type}`,
    await cost(
      REQUESTS,
      some(() => known),
      (one) => ask(one),
    ),
    '',
  )
  identity.close()
}
const { ask, identity } = await identityOf({})
row(
  'a browser',
  await cost(
    REQUESTS,
    some(() => BROWSER),
    (one) => ask(undefined, one),
  ),
  '',
)
row(
  'a new User-Agent',
  await cost(
    REQUESTS,
    some((at) => `${BROWSER} ${Math.random()}${at}`),
    (one) => ask(undefined, one),
  ),
  '',
)
row(
  'GPTBot',
  await cost(
    REQUESTS,
    some(() => 'Mozilla/5.0; compatible; GPTBot/1.2'),
    (one) => ask(undefined, one),
  ),
  '',
)
identity.close()

const head = Array.from(
  { length: 20 },
  (_, at) => `<meta name="m${at}" content="value ${at}"><link rel="preload" href="/asset-${at}.js" as="script">`,
)
const page = Buffer.from(
  `<!doctype html><html><head><title>Page</title>${head.join('')}</head><body>${'<p>text</p>'.repeat(2000)}</body></html>`,
)
const insertions = hintOf({ markdown: '/page.md', index: '/llms.txt' }, `https://${HOST}`, false)
row(
  `the hint of a page of ${page.length} bytes`,
  await cost(
    REQUESTS,
    some(() => page),
    (one) => {
      const insertion = new Insertion(insertions)
      insertion.write(one)
      insertion.end()
    },
  ),
  'at most 5',
)
table(rows)
