import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { freePort } from '../helpers/free-port.js'
import type { Case, Suite } from './suite.js'

const CLI = fileURLToPath(new URL('../../dist/src/cli.js', import.meta.url))
const PACKAGE = fileURLToPath(new URL('../peers/node_modules/http-cache-tests', import.meta.url))
const READY_MS = 30_000

/** One test of the suite. Kind: `required` if absent, `optimal`, or `check` for behaviour that is only reported. */
interface CacheTest {
  readonly id: string
  readonly name: string
  readonly kind?: 'required' | 'optimal' | 'check'
  readonly browser_only?: boolean
  readonly depends_on?: readonly string[]
}

interface CacheSuite {
  readonly id: string
  readonly tests: readonly CacheTest[]
}

interface Engine {
  runTests(tests: readonly CacheSuite[], ...options: readonly unknown[]): Promise<void>
  /** Returns true for a test that passed. */
  getResults(): Readonly<Record<string, unknown>>
}

type Misses = Readonly<Record<string, string>>

const BAD_AGE = 'an invalid Age is ignored, and the first of several counts (RFC 9111, 5.1)'
const BAD_PART = 'the part has 5 bytes, its Content-Range says 6, and it has no validator'
const CLOSED = 'no origin responds, so the response cannot be a new one'

/** Tests of every state of the suite that the proxy does not pass, with the reason. One that passes must leave this list. */
const MISSES: Misses = {
  'headers-store-Set-Cookie': 'responses with Set-Cookie are never shared',
  'other-set-cookie': 'responses with Set-Cookie are never shared',
  'headers-store-Transfer-Encoding': 'an unknown transfer coding gets 502',
  'partial-store-partial-reuse-partial': BAD_PART,
  'partial-store-partial-reuse-partial-absent': BAD_PART,
  'partial-store-partial-reuse-partial-byterange': BAD_PART,
  'partial-store-partial-reuse-partial-suffix': BAD_PART,
  'partial-store-partial-complete': 'a part without a validator is not completed',
  'method-POST': 'responses to POST are not stored',
  'conditional-lm-fresh-no-lm': 'wants a 304 for a time before Date; RFC 9111, 4.3.2 wants one for a time after it',
  'vary-normalise-lang-select': 'other preferences of languages have other semantics (RFC 9111, 4.1)',
}

/** The same for the package only. The later state of the suite wants the opposite, or does not have the test. */
const MISSES_OF_PACKAGE: Misses = {
  'age-parse-nonnumeric': BAD_AGE,
  'age-parse-negative': BAD_AGE,
  'age-parse-float': BAD_AGE,
  'age-parse-prefix-twoline': BAD_AGE,
  'age-parse-dup-0': BAD_AGE,
  'age-parse-dup-0-twoline': BAD_AGE,
  'age-parse-dup-old': BAD_AGE,
  'age-parse-parameter': BAD_AGE,
  'age-parse-numeric-parameter': BAD_AGE,
  'stale-close-must-revalidate': CLOSED,
  'stale-close-proxy-revalidate': CLOSED,
  'stale-close-no-cache': CLOSED,
  'stale-close-s-maxage=2': CLOSED,
  '304-etag-update-response-Content-MD5': 'RFC 9111, 3.2 does not except this field',
  '304-etag-update-response-Content-Type': 'fields that describe the stored body stay',
  '304-etag-update-response-ETag': 'RFC 9111, 3.2 does not except this field',
  '304-etag-update-response-Set-Cookie': 'responses with Set-Cookie are never shared',
}

let figures = ''

/** The package `http-cache-tests`, or a later state in a folder, against the built proxy with `cache: everything`. */
export const cache: Suite = {
  name: 'cache',
  folder: () => PACKAGE,
  missing: 'npm install --prefix test/peers',
  get note() {
    return figures
  },
  async cases(folder) {
    if (!existsSync(CLI)) throw new Error('the daemon is not built: run npm run build first')
    const load = async (path: string): Promise<unknown> => await import(pathToFileURL(resolve(folder, path)).href)
    const { default: suites } = (await load('tests/index.mjs')) as { default: readonly CacheSuite[] }
    const { path, options, misses } = layoutOf(folder)
    const engine = (await load(`${path}client/runner.mjs`)) as Engine
    const tests = suites.flatMap((suite) => suite.tests).filter((test) => test.browser_only !== true)
    await throughProxy(join(folder, path), async (base) => await engine.runTests(suites, ...options(base)))
    const results = engine.getResults()
    const byId = new Map(suites.flatMap((suite) => suite.tests).map((test) => [test.id, test]))
    const passes = (id: string, dependencies: boolean): boolean =>
      results[id] === true &&
      (!dependencies || (byId.get(id)?.depends_on ?? []).every((other) => passes(other, dependencies)))
    figures = (['required', 'optimal'] as const)
      .map((kind) => {
        const own = tests.filter((test) => (test.kind ?? 'required') === kind)
        const count = (dependencies: boolean) => own.filter(({ id }) => passes(id, dependencies)).length
        return `${kind}: ${count(false)} of ${own.length}, ${count(true)} with their dependencies`
      })
      .join('\n')
    return tests
      .filter(({ kind }) => kind !== 'check')
      .map((test) => caseOf(test, passes(test.id, false), { ...MISSES, ...misses }[test.id]))
  },
}

/** A state of the suite: where its engine is, how the engine is called, and what it misses besides {@link MISSES}. */
interface Layout {
  readonly path: string
  readonly options: (base: string) => readonly unknown[]
  readonly misses: Misses
}

/** The state after the package, which is in the repository of the suite only, has the engine in a folder of its own. */
const layoutOf = (folder: string): Layout =>
  existsSync(join(folder, 'test-engine'))
    ? { path: 'test-engine/', options: (base) => [false, base], misses: {} }
    : { path: '', options: (base) => [fetch, false, base], misses: MISSES_OF_PACKAGE }

const caseOf = ({ id, name }: CacheTest, passed: boolean, miss: string | undefined): Case => ({
  name: `${id}: ${name}`,
  expected: miss ?? 'passes',
  got: () => (passed ? 'passes' : (miss ?? 'fails')),
})

/** Starts the origin of the suite and the daemon in front of it, and ends both after `work`. */
async function throughProxy(folder: string, work: (base: string) => Promise<void>): Promise<void> {
  const temporary = mkdtempSync(join(tmpdir(), 'edged-cache-'))
  const children: ChildProcess[] = []
  try {
    const port = await freePort()
    const origin = spawn(process.execPath, ['server/server.mjs'], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        ...process.env,
        npm_config_protocol: 'http',
        npm_config_port: String(port),
        npm_config_pidfile: join(temporary, 'pid'),
      },
    })
    children.push(origin)
    await lineOf(origin, (line) => (line.includes('Listening') ? true : undefined))
    const file = join(temporary, 'edged.yaml')
    writeFileSync(file, configuration(port))
    const daemon = spawn(process.execPath, [CLI, 'serve', '-c', file], { stdio: ['ignore', 'pipe', 'inherit'] })
    children.push(daemon)
    await work(await lineOf(daemon, readyProxy))
  } finally {
    for (const child of children) child.kill('SIGKILL')
    rmSync(temporary, { recursive: true, force: true })
  }
}

const configuration = (origin: number): string => `data: ./data
log: { level: info }
proxy: { listen: "127.0.0.1:0" }
control: { listen: "127.0.0.1:0" }
admin: { listen: "127.0.0.1:0" }
accounts: [{ id: 023e105f4ecef8ad9ca31a8372d0c353, name: Example }]
zones:
  - id: 9f1839b6152d298aca64c4e906b6d074
    account: 023e105f4ecef8ad9ca31a8372d0c353
    name: suite.test
    hostnames: ["*"]
    origin: http://127.0.0.1:${origin}
    cache: everything
`

function readyProxy(line: string): string | undefined {
  if (!line.includes('"ready"')) return undefined
  return (JSON.parse(line) as { proxy: string }).proxy
}

/** Returns what `read` finds in a line of the standard output of a child. */
async function lineOf<T>({ stdout }: ChildProcess, read: (line: string) => T | undefined): Promise<T> {
  if (!stdout) throw new Error('the child has no output')
  return await new Promise((done, reject) => {
    const timer = setTimeout(() => reject(new Error('a server of the suite did not start')), READY_MS)
    createInterface(stdout).on('line', (line) => {
      const found = read(line)
      if (found === undefined) return
      clearTimeout(timer)
      done(found)
    })
  })
}
