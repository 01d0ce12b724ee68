import { generateKeyPairSync } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { gunzipSync } from 'node:zlib'
import { Command } from 'commander'
import t, { type Test } from 'tap'
import { RunStats } from '../pipelines/sources/intake/run-stats.js'
import { SINKS } from '../sinks/index.js'
import { test as testCommand } from '../src/commands/test.js'
import { readPipelines } from '../src/config/pipeline-file.js'
import { systemClock as clock } from '../src/core/clock.js'
import { silentLog as log } from '../src/core/log.js'
import { destinationChecks } from '../src/daemon/pipelines/destinations.js'
import { runPipeline } from '../src/daemon/pipelines/run.js'
import { testFolder } from './helpers/folder.js'
import { httpReceiver } from './helpers/http-receiver.js'
import { NO_REDIS, redisServer } from './helpers/redis.js'

const PAGE = 'docs/recipes.md'
const RECIPES = [...readFileSync(PAGE, 'utf8').matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text = '']) => text)

const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' })
const account = { client_email: 'logs@example.iam.gserviceaccount.com', private_key: key, token_uri: 'https://a.test/' }
/** Secrets of the recipes; every other one is `secret`. */
const SECRETS: Readonly<Record<string, string>> = {
  AZURE_SAS: 'sv=2024-11-04&ss=b&srt=o&sp=cw&sig=c2VjcmV0',
  R2_ACCOUNT_ID: '0'.repeat(32),
  BQ_KEY: Buffer.from(JSON.stringify(account)).toString('base64'),
}
const environment = (text: string) =>
  Object.fromEntries([...text.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => [name, SECRETS[name] ?? 'secret']))

const schemeOf = (text: string) => /^destination_conf: '?([a-z0-9]+):/m.exec(text)?.[1] ?? ''
const recipe = (scheme: string): string => RECIPES.find((text) => schemeOf(text) === scheme) ?? ''

t.test('every destination has a recipe, and every recipe is valid', async (t) => {
  const covered = new Set(RECIPES.map(schemeOf))
  t.same(
    [...SINKS.keys()].map((scheme) => scheme.replace(':', '')).filter((scheme) => !covered.has(scheme)),
    // Like rediss, without TLS.
    ['redis'],
  )
  const checks = destinationChecks({ clock, log })
  for (const text of RECIPES) t.doesNotThrow(() => readPipelines(text, `/${PAGE}`, checks, environment(text)), text)
})

t.test('the tests inside the recipes pass', async (t) => {
  for (const text of RECIPES.filter((one) => one.includes('\ntests:'))) {
    const variables = environment(text)
    const filled = text.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => variables[name]!)
    const file = join(testFolder(t, { 'recipe.yaml': filled }), 'recipe.yaml')
    const out = t.capture(process.stdout, 'write', () => true)
    const command = new Command('test').exitOverride()
    testCommand(command)
    await command.parseAsync([file], { from: 'user' })
    const printed = out()
      .map(({ args }) => String(args[0]))
      .join('')
    out.restore()
    t.match(printed, /^[1-9]\d* passed, 0 failed$/m, text)
  }
})

/** Runs a recipe on three records beside it. */
async function ran(t: Test, text: string): Promise<string> {
  const records = [200, 503, 500].map((EdgeResponseStatus, n) => JSON.stringify({ RayID: `r${n}`, EdgeResponseStatus }))
  const folder = testFolder(t, { 'requests.ndjson': `${records.join('\n')}\n` })
  const local = text.replace('{ paths: [/var/log/app/*.ndjson], follow: true }', './requests.ndjson')
  const checks = destinationChecks({ clock, log })
  const [pipeline] = readPipelines(local, join(folder, 'p.yaml'), checks, environment(text))
  const stats = new RunStats((place, message) => t.fail(`${place}: ${message}`))
  const stop = new AbortController().signal
  const of = { state: join(folder, 'state'), resume: false, stats, tell() {}, size() {}, stop, clock, log }
  // Waits of the product do not keep a process alive by themselves.
  const alive = setInterval(() => {}, 2 ** 30)
  await runPipeline(pipeline!, of).finally(() => clearInterval(alive))
  return folder
}

t.test('the recipe for files writes compressed files', async (t) => {
  const folder = await ran(t, recipe('file'))
  const files = readdirSync(join(folder, 'out'), { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
  const texts = files.map(({ parentPath, name }) => gunzipSync(readFileSync(join(parentPath, name))).toString())
  t.same(texts, ['"r1",503\n"r2",500\n'])
})

t.test('the recipe for a collector on the same machine posts a batch', async (t) => {
  const receiver = await httpReceiver(t, { tls: false })
  await ran(t, recipe('http').replace('127.0.0.1:8686', `127.0.0.1:${receiver.port}`))
  t.same(receiver.accepted.map(({ target, text }) => [target, text.split('\n').length - 1]), [['/logs', 3]]) // prettier-ignore
})

t.test('the recipe for Redis adds entries to a stream', { skip: NO_REDIS }, async (t) => {
  const server = await redisServer(testFolder(t))
  t.teardown(() => server.kill())
  const text = recipe('rediss')
    .replace(/rediss:\/\/[^?]*/, server.url)
    .replace(/&username=.*/, '')
  await ran(t, text)
  const redis = new Redis(server.url)
  t.teardown(() => redis.disconnect())
  t.equal(await redis.xlen('logs'), 3)
})
