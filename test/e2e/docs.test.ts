import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { findWorkerd } from '../../src/workers/runtime/binary.js'
import { blocksOf, blocksTested } from '../helpers/doc-blocks.js'
import { testFolder } from '../helpers/folder.js'
import { freePort } from '../helpers/free-port.js'
import { Receiver } from '../helpers/receiver.js'
import { runShell } from '../helpers/shell.js'
import { CA_FILE } from '../helpers/tls.js'
import { CLI, startDaemon, unbuilt, ZONE, type Daemon } from './daemon.js'

const ROOT = process.cwd()
const lacks = (...commands: string[]): string | false => {
  const missing = commands.filter((command) => spawnSync(command, ['--version']).error !== undefined)
  return missing.length > 0 && `not installed: ${missing.join(', ')}`
}
const skip = unbuilt || lacks('bash', 'curl')

/** What a page needs to run on this machine. */
interface Setting {
  readonly files?: Readonly<Record<string, string>>
  /** Commands before the first block. */
  readonly before?: string
  /** Commands of the page, and those that run instead. */
  readonly instead?: readonly (readonly [command: string, instead: string])[]
  /** Statuses of errors are part of what the page shows. */
  readonly showsErrors?: boolean
  /** What the commands print. */
  readonly prints?: readonly (string | RegExp)[]
  readonly missing?: string | false
}

const yamlOf = (page: string, heading: string): string =>
  blocksOf(page).find((block) => block.language === 'yaml' && block.heading === heading)!.text

/** Commands in place of one that goes on until it is ended: it is ended once it has printed a line. */
const watched = (command: string, cause: string): string =>
  `(${command}) > seen.txt & WATCH=$!\nuntil [ -s seen.txt ]; do kill -0 $WATCH; ${cause} > caused.txt; sleep 0.2; done\npkill -P $WATCH || kill $WATCH\nwait $WATCH || true\ncat seen.txt; rm seen.txt`

const RECORD = `curl $API_URL/zones/${ZONE}/edged/records/http_requests -H "Authorization: Bearer $TOKEN" --json '{"EdgeResponseStatus":503,"RayID":"seen"}'`

/** Runs the daemon that `edged init` has configured, on ports of the test. */
const OWN_SITE: Setting = {
  before: 'mkdir own && cd own',
  instead: [
    ['npx edged init', 'npx edged init\nsed -i "s/8080/$PORT_1/; s/8787/$PORT_2/; s/9901/$PORT_3/" edged.yaml'],
    ['npx edged doctor -c edged.yaml', 'npx edged doctor -c edged.yaml || [ $? = 1 ]'],
    [
      'npx edged serve -c edged.yaml',
      'npx edged serve -c edged.yaml > serve.log 2>&1 & SERVE=$!\nuntil npx edged status > status.txt 2>&1; do sleep 0.5; done',
    ],
    ['npx edged reload', 'npx edged reload; kill $SERVE; wait $SERVE'],
  ],
  prints: ['edged.yaml: ok', /^edged \d.*ready$/m, 'nothing changed'],
}

const SETTINGS: Readonly<Record<string, Setting>> = {
  'README.md': { showsErrors: true, prints: ['# Kestrel Rock Lighthouse', 'application/problem+json'] },
  'docs/api.md': { prints: ['"status":"active"', 'docs.customer.com', 'shop.example.com'] },
  'docs/cache.md': {},
  'docs/configuration.md': OWN_SITE,
  'docs/history.md': { prints: ['"totals"'] },
  'docs/logpush.md': {
    instead: [
      [
        'cat data/demo/jobs',
        'until ls data/demo/jobs/*/*.log > found.txt 2>&1; do sleep 0.5; done\ncat data/demo/jobs',
      ],
    ],
    prints: ['{"EdgeStartTimestamp":"2026-11-21T13:00:00Z","RayID":"a","EdgeResponseStatus":503}\n'],
  },
  'docs/markdown.md': {
    before: `ln -s ${ROOT}/demo demo`,
    instead: [['https://example.com/ -o page.md', '$PROXY_URL/ -o page.md && cat page.md']],
    prints: [/# Kestrel Rock Lighthouse[^]*# Kestrel Rock Lighthouse/],
  },
  'docs/cookbook.md': { prints: ['"/new"'] },
  'docs/moving.md': {
    files: {
      Caddyfile: 'http://a.example {\n\treverse_proxy 127.0.0.1:9000\n}\n',
      'nginx.conf': 'server { server_name b.example; location / { proxy_pass http://127.0.0.1:9000; } }\n',
    },
    before: 'export OLD_TOKEN=$TOKEN',
    instead: [
      ['--zone example.com', '--zone example.test'],
      ['https://api.cloudflare.com/client/v4', '$API_URL'],
    ],
    prints: ['caddy.yaml: ok', 'nginx.yaml: ok', 'hosted.yaml: ok'],
  },
  'docs/operations.md': {
    before: 'sed "s#^data: .*#data: ./restored#" edged.yaml > restored.yaml; mkdir backup',
    instead: [
      ['/backup/edged.tar', '$PWD/backup/edged.tar'],
      ['-c edged.yaml     # the daemon is stopped', '-c restored.yaml # the daemon is stopped'],
    ],
  },
  'docs/pipelines.md': {
    files: {
      'errors.yaml': yamlOf('docs/pipelines.md', 'Pipelines: log files to destinations'),
      'requests.ndjson': '{"EdgeStartTimestamp":1795266000123456789,"RayID":"a","EdgeResponseStatus":503}\n',
      'dead.log': '{"RayID":"dead"}\n',
    },
    before: 'mkdir -p dead/20261121; gzip < dead.log > dead/20261121/20261121T101500Z_20261121T101530Z_5f0c2e9a.log.gz',
    instead: [
      [
        `EDGED_TOKEN=... npx edged tail example.test --filter '{"where":{"key":"EdgeResponseStatus","operator":"geq","value":500}}'`,
        watched(
          `EDGED_TOKEN=$TOKEN npx edged tail example.test --filter '{"where":{"key":"EdgeResponseStatus","operator":"geq","value":500}}'`,
          RECORD,
        ),
      ],
      [
        'npx edged tail web/errors -c edged.yaml | jq .',
        watched('npx edged tail web/errors -c edged.yaml | jq --unbuffered .', RECORD),
      ],
      ['https://logs.example.com/in', 'file:replayed'],
    ],
    prints: ['errors.yaml: ok', '1 passed, 0 failed', '"RayID":"seen"', '"RayID": "seen"'],
    missing: lacks('jq'),
  },
  'docs/recipes.md': {
    files: {
      's3.yaml': yamlOf('docs/recipes.md', 'Files'),
      'requests.ndjson': '{"RayID":"a","EdgeResponseStatus":503}\n',
    },
    prints: ['s3.yaml: ok'],
  },
  'docs/rules.md': { prints: ['"office"', '"My ruleset"', /ok\n$/] },
  'docs/webhooks.md': { prints: ['"success":true', '"payload":'] },
  'docs/workers.md': {
    prints: ['"id":"hello"'],
    missing: findWorkerd() === undefined && 'the npm package workerd is not installed',
  },
}

/** Starts the demo, with what the pages name and this machine lacks. */
async function startDemo(t: Test, folder: string): Promise<{ daemon: Daemon; receiver: Receiver }> {
  const receiver = await Receiver.start()
  t.teardown(() => receiver.close())
  const demo = parse(readFileSync('config/demo.yaml', 'utf8')) as object
  // The commands find the daemon by its file.
  const listen = async () => ({ listen: `127.0.0.1:${await freePort()}` })
  const daemon = await startDaemon(
    t,
    {
      ...demo,
      data: './data/demo',
      proxy: await listen(),
      control: await listen(),
      admin: await listen(),
      tokens: [{ name: 'demo', token: TOKEN, permissions: ['*'] }],
      logpush: { destinations: { allow_file_under: ['./data/demo/jobs'] } },
      pipelines: [
        {
          name: 'web',
          source: { zone: ZONE },
          dataset: 'http_requests',
          routes: [{ name: 'errors', destination_conf: 'file:web' }],
        },
      ],
      egress: {
        allow_cidrs: ['127.0.0.1/32:443', `127.0.0.1/32:${receiver.port}`],
        ca_file: CA_FILE,
        resolver_overrides: { 'receiver.test': ['127.0.0.1'], 'origin.example.net': ['127.0.0.1'] },
      },
    },
    folder,
  )
  return { daemon, receiver }
}

const TOKEN = 'demo-token-for-loopback-only'
const portOf = (url: string): string => new URL(url).port

/** Runs the commands of a page in one shell, and returns what they print. */
async function run(t: Test, page: string, bin: string, demo: Awaited<ReturnType<typeof startDemo>>): Promise<string> {
  const { daemon, receiver } = demo
  const { files = {}, before = '', instead = [], showsErrors = false } = SETTINGS[page]!
  const folder = join(bin, page.replaceAll(/\W/g, '-'))
  mkdirSync(folder)
  writeFileSync(join(folder, 'edged.yaml'), readFileSync(join(bin, 'edged.yaml')))
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  symlinkSync(join(bin, 'data'), join(folder, 'data'))
  let commands = blocksTested('shell')
    .filter((block) => block.page === page)
    .map((block) => block.text)
    .join('\n')
  for (const [command, other] of instead) {
    t.ok(commands.includes(command), `${page} has ${command}`)
    commands = commands.replaceAll(command, () => other)
  }
  const own = commands
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${portOf(daemon.proxy)}`)
    .replaceAll('127.0.0.1:8787', `127.0.0.1:${portOf(daemon.control)}`)
    .replaceAll('127.0.0.1:9901', `127.0.0.1:${portOf(daemon.admin)}`)
    .replaceAll('hooks.example.com', `receiver.test:${receiver.port}`)
    .replaceAll('"file://\'"$PWD"\'/data', `"file://${bin}/data`)
  const curl = `curl() { command curl -sS ${showsErrors ? '' : '--fail-with-body'} "$@"; }`
  return await runShell(t, `set -eo pipefail\n${curl}\n${before}\n${own}`, {
    folder,
    name: page,
    env: {
      PATH: `${bin}:${process.env['PATH']}`,
      HOME: folder,
      TOKEN,
      API_URL: daemon.control,
      PROXY_URL: daemon.proxy,
      PORT_1: String(await freePort()),
      PORT_2: String(await freePort()),
      PORT_3: String(await freePort()),
    },
  })
}

t.test('the commands of the documentation run', { skip, timeout: 200_000 }, async (t) => {
  const folder = testFolder(t)
  for (const [name, line] of [
    ['edged', `exec "${process.execPath}" "${CLI}" "$@"`],
    ['npx', `[ "$1" = edged ] || exit 97; shift; exec "${process.execPath}" "${CLI}" "$@"`],
  ] as const) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${line}\n`)
    chmodSync(join(folder, name), 0o755)
  }
  const demo = await startDemo(t, folder)
  // Rules create the entry point of a phase, which moving replaces.
  const pages = [...new Set(['docs/rules.md', ...blocksTested('shell').map((block) => block.page)])]
  for (const page of pages) t.ok(page in SETTINGS, `${page} has a setting`)

  const runnable = pages.filter((page) => SETTINGS[page]?.missing === undefined || SETTINGS[page].missing === false)
  // A job writes its first file after half a minute: the other pages run during that.
  const slow = run(t, 'docs/logpush.md', folder, demo)
  const outputs = new Map<string, string>()
  for (const page of runnable) if (page !== 'docs/logpush.md') outputs.set(page, await run(t, page, folder, demo))
  outputs.set('docs/logpush.md', await slow)
  for (const page of pages)
    t.test(page, { skip: SETTINGS[page]?.missing ?? false }, async (t) => {
      for (const part of SETTINGS[page]!.prints ?? []) t.match(outputs.get(page), part)
    })
})

t.test('the README has the first commands of the page about configuration', async (t) => {
  const commands = (page: string, heading: string) =>
    blocksOf(page).find((block) => block.language === 'sh' && block.heading === heading)?.text
  t.equal(commands('README.md', 'In front of your own site'), commands('docs/configuration.md', 'Configuration'))
})

t.test('examples of the library return what they say', { skip: unbuilt }, async (t) => {
  const prelude = `import { equal } from 'node:assert/strict'
import { Readable } from 'node:stream'
const [page, contentType, file, response] = ['<p>a', 'text/html', process.stderr, { body: Readable.from(['<p>a']) }]\n`
  for (const block of blocksTested('library')) {
    const checked = block.text.replaceAll(/^(\w.*) \/\/ ('.*?'|true|\d+)(?:;.*)?$/gm, 'equal($1, $2)')
    t.match(checked, /^equal\(/m, `${block.page}:${block.line}`)
    const args = ['--input-type=module', '-e', prelude + checked]
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' })
    t.equal(status, 0, `${block.page}:${block.line}\n${stderr}`)
  }
})
