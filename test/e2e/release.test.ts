import { createHash } from 'node:crypto'
import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { convert } from '../../pipelines/markdown/index.js'
import { until } from '../helpers/web.js'
import { ACCOUNT, configuration, startDaemon, TOKEN, unbuilt, ZONE } from './daemon.js'

const run = promisify(execFile)
const ROOT = process.cwd()
const PAGE = '<title>T</title><h1>A &amp; b</h1><p>x'

interface Materials {
  readonly metadata: { readonly component: { readonly hashes: readonly { readonly content: string }[] } }
  readonly components: readonly { readonly name: string; readonly version: string; readonly licenses?: object[] }[]
}

/** Packs a release into a folder of its own. */
async function packRelease(folder: string): Promise<{ file: string; bytes: Buffer; list: string }> {
  const { stdout } = await run(process.execPath, [join(ROOT, 'packages/release.mjs'), folder])
  const file = /^(.+\.tgz): /m.exec(stdout)![1]!
  return { file, bytes: readFileSync(file), list: readFileSync(file.replace(/tgz$/, 'cdx.json'), 'utf8') }
}

/** Installs a tarball into an empty folder outside of this repository, without a network and with an empty cache. */
async function install(folder: string, tarball: string): Promise<string> {
  const site = join(folder, 'site')
  mkdirSync(site)
  writeFileSync(join(site, 'package.json'), '{ "type": "module", "private": true }')
  await run('npm', ['install', '--offline', '--cache', join(folder, 'cache'), tarball], { cwd: site })
  return site
}

t.test('a release', { skip: unbuilt, timeout: 600_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'edged-release-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const [release, again] = await Promise.all([packRelease(join(folder, 'a')), packRelease(join(folder, 'b'))])
  t.ok(release.bytes.equals(again.bytes), 'two packs are equal')
  t.equal(release.list, again.list)

  const site = await install(folder, release.file)
  const content = join(site, 'node_modules/edged')
  t.strictSame(
    readdirSync(join(site, 'node_modules')).filter((name) => !name.startsWith('.')),
    ['edged'],
  )

  t.test('lists the packages in it with their licences', async (t) => {
    const { metadata, components } = JSON.parse(release.list) as Materials
    t.equal(metadata.component.hashes[0]?.content, createHash('sha256').update(release.bytes).digest('hex'))
    const names = components.map(({ name }) => name)
    // The daemon's, the dashboard's, the one with a compiled part; no tools.
    for (const name of ['koa', 'react', '@codemirror/state', 'classic-level']) t.ok(names.includes(name), name)
    for (const name of ['typescript', 'esbuild', 'vite', 'tap']) t.notOk(names.includes(name), name)
    const texts = readFileSync(join(content, 'THIRD-PARTY.txt'), 'utf8')
    const unnamed = components.filter(({ name, version }) => !texts.includes(`\n${name} ${version} (`))
    t.strictSame(unnamed, [])
    t.match(texts, /The LevelDB Authors/)
  })

  t.test('has neither sources nor tests', async (t) => {
    const names = readdirSync(content, { recursive: true }) as string[]
    t.strictSame(
      names.filter((name) => /^(?:test|src|ui|packages|\.ci)\/|screenshots|\.(?:map|tsx|tgz)$/.test(name)),
      [],
    )
    for (const name of ['config/full.yaml', 'demo/site/index.html', 'docs/edged.svg', 'LICENSE'])
      t.ok(existsSync(join(content, name)), name)
  })

  t.test('runs by npx, checks and converts', async (t) => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
    const edged = async (...args: string[]) => (await run('npx', ['--offline', 'edged', ...args], { cwd: site })).stdout
    t.equal(await edged('--version'), `${version}\n`)
    t.match(await edged('check', join(content, 'config/demo.yaml')), /demo\.yaml: ok$/m)
    writeFileSync(join(site, 'page.html'), PAGE)
    t.equal(await edged('convert', 'page.html'), convert(PAGE))
  })

  t.test('has libraries with their types', async (t) => {
    writeFileSync(
      join(site, 'use.js'),
      `import { convert } from 'edged/markdown'
      import { Scheme } from 'edged/expr'
      import { compileFormat, DATASETS } from 'edged/records'
      import { Type } from 'edged/plugin'
      const format = compileFormat(DATASETS.get('http_requests'), { output_type: 'csv', field_names: ['RayID'] })
      process.stdout.write(JSON.stringify([convert(${JSON.stringify(PAGE)}), typeof Scheme, typeof format, Type.Integer({ minimum: 1 })]))`,
    )
    const { stdout } = await run(process.execPath, ['use.js'], { cwd: site })
    t.strictSame(JSON.parse(stdout), [convert(PAGE), 'function', 'object', { type: 'integer', minimum: 1 }])
    writeFileSync(
      join(site, 'use.ts'),
      `import { convert } from 'edged/markdown'
      import { type Filter, Scheme } from 'edged/expr'
      import { compileFormat, DATASETS, type OutputOptions } from 'edged/records'
      import { type Plugin, Type } from 'edged/plugin'
      const params = Type.Object({ size: Type.Optional(Type.Integer()) })
      export const plugin: Plugin = ({ sink }) =>
        sink({ scheme: 'a', form: 'a:', summary: 'b', params, open: () => ({ write: async ({ body }) => void (await body.bytes()) }) })
      // @ts-expect-error open is missing
      export const incomplete: Plugin = ({ sink }) => sink({ scheme: 'a', form: 'a:', summary: 'b' })
      export const text: string = convert('<p>a')
      export const scheme: Scheme | Filter | undefined = undefined
      export const options: OutputOptions = { output_type: 'csv', field_names: ['RayID'], sample_rate: null }
      export const format = compileFormat(DATASETS.get('http_requests')!, options)
      // @ts-expect-error not a type of output
      export const wrong: OutputOptions = { output_type: 'xml' }`,
    )
    for (const name of ['@types/node', 'undici-types'])
      cpSync(join(ROOT, 'node_modules', name), join(site, 'node_modules', name), { recursive: true })
    const options = ['--noEmit', '--strict', '--target', 'es2023', '--module', 'nodenext', '--types', 'node', 'use.ts']
    await run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), ...options], { cwd: site })
  })

  t.test('serves with two processes, a store on disk, log jobs, scripts, dashboard and manual', async (t) => {
    await serves(t, join(content, 'dist/src/cli.js'))
  })
})

async function serves(t: Test, cli: string): Promise<void> {
  const home = t.testdir({ logs: {} })
  const config = configuration('demo', { processes: 2, logpush: { destinations: { allow_file_under: [home] } } })
  const daemon = await startDaemon(t, config, home, [], [], cli)
  const page = await fetch(`${daemon.proxy}/`, { headers: { accept: 'text/markdown' } })
  t.equal(page.headers.get('content-type'), 'text/markdown; charset=utf-8')
  for (const path of ['/ui/', '/docs/'])
    t.equal((await fetch(daemon.control.replace('/client/v4', path))).status, 200, path)

  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
  const jobs = `${daemon.control}/zones/${ZONE}/logpush/jobs`
  const job = {
    dataset: 'http_requests',
    enabled: true,
    destination_conf: `file://${home}/logs?gzip=true`,
    max_upload_records: 1000,
    output_options: { field_names: ['RayID', 'EdgeResponseStatus'] },
  }
  const created = await fetch(jobs, { method: 'POST', headers, body: JSON.stringify(job) })
  t.ok(created.ok, await created.text())

  // Code of this length is read in a thread.
  const form = new FormData()
  form.set('metadata', new Blob(['{"main_module":"w.js"}'], { type: 'application/json' }))
  const code = `export default { fetch() { return new Response("w") } }\n${'// long\n'.repeat(5000)}`
  form.set('w.js', new File([code], 'w.js', { type: 'application/javascript+module' }))
  const script = `${daemon.control}/accounts/${ACCOUNT}/workers/scripts/w`
  const uploaded = await fetch(script, { method: 'PUT', headers: { authorization: headers.authorization }, body: form })
  t.match(await uploaded.json(), { success: true, messages: [{ code: 10901, message: /edged doctor/ }] })

  const records = `${daemon.control}/zones/${ZONE}/edged/records/http_requests`
  const body = '{"RayID":"a","EdgeResponseStatus":404}\n'.repeat(1000)
  const stored = await fetch(records, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/x-ndjson' },
    body,
  })
  t.ok(stored.ok, await stored.text())
  const files = () =>
    readdirSync(join(home, 'logs'), { recursive: true }).filter((name) => String(name).endsWith('.gz'))
  await until(() => files().length > 0)
  t.equal(gunzipSync(readFileSync(join(home, 'logs', String(files()[0])))).toString(), body)
  daemon.signal('SIGTERM')
  t.equal(await daemon.ended, 0)

  const second = await startDaemon(t, config, home, [], [], cli)
  const kept = await fetch(jobs.replace(daemon.control, second.control), { headers })
  t.match(await kept.json(), { result: [{ dataset: 'http_requests' }] }, 'the store has the job')
}
