/** A daemon whose pipelines have transforms: over its own records, and over those of a listener. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { request } from 'undici'
import { findWorkerd } from '../../src/workers/runtime/binary.js'
import { testFolder, textsBelow } from '../helpers/folder.js'
import { freePort } from '../helpers/free-port.js'
import { startOrigin } from '../helpers/proxy.js'
import { until } from '../helpers/web.js'
import { CLI, configuration, startDaemon, unbuilt, ZONE } from './daemon.js'
import { tail } from './tail-edged.js'

const skip = unbuilt || (findWorkerd() === undefined && 'the npm package workerd is not installed')
const options = { skip, timeout: 600_000 }

/** Text of all delivered batches. Before the first one there is no folder. */
const textOf = async (folder: string): Promise<string> => (await textsBelow(folder).catch(() => [])).join('')

t.test('pipelines of the daemon run modules', options, async (t) => {
  const folder = testFolder(t)
  const [own, web] = [join(folder, 'own'), join(folder, 'web')]
  for (const path of [own, web]) await mkdir(path)
  await writeFile(
    join(folder, 'own.js'),
    `export default { record({ ClientRequestPath: path, EdgeStartTimestamp: start }) {
  if (path === '/health') return null
  if (path === '/fails') throw new Error('from the module')
  return { path, isExact: typeof start === 'bigint' }
} }`,
  )
  await writeFile(join(folder, 'web.js'), 'export default { record: (record) => [record, { ...record, again: true }] }')
  const { url } = await startOrigin(t, (_request, response) => void response.end('hello'))
  const port = await freePort()
  const common = { max_upload_interval_seconds: 1 }
  const config = configuration(url, {
    pipelines: [
      {
        ...common,
        name: 'own',
        source: { zone: ZONE },
        dataset: 'http_requests',
        transform: './own.js',
        set: { from: 'edged' },
        destination_conf: `file://${own}/logs`,
      },
      {
        ...common,
        name: 'web',
        source: { http: `127.0.0.1:${port}` },
        dataset: 'any',
        transform: './web.js',
        destination_conf: `file://${web}/logs`,
      },
      {
        ...common,
        name: 'columns',
        source: { zone: ZONE },
        dataset: 'http_requests',
        output_options: { output_type: 'parquet' },
        destination_conf: 'file:columns',
      },
    ],
  })
  const daemon = await startDaemon(t, config, folder)
  for (const path of ['/a', '/health', '/fails', '/b']) {
    const response = await request(`${daemon.proxy}${path}`, { headers: { host: 'example.test' } })
    await response.body.dump()
  }
  await until(() => daemon.lines.some((line) => line.includes(`listening on http://127.0.0.1:${port}`)))
  const posted = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{"n":1}\n' })
  t.equal(posted.status, 202)
  await until(async () => (await textsBelow(own)).join('').includes('"/b"') && (await textsBelow(web)).length > 0)
  const lines = (await textsBelow(own)).join('').split('\n').filter(Boolean)
  t.same(
    lines.toSorted(),
    ['/a', '/b'].map((path) => `{"path":"${path}","isExact":true,"from":"edged"}`),
  )
  t.same((await textsBelow(web)).join(''), '{"n":1}\n{"n":1,"again":true}\n')
  t.equal(await daemon.metric('edged_pipeline_transform_records_in_total{pipeline="own"}'), 4)
  t.equal(await daemon.metric('edged_pipeline_records_invalid_total{pipeline="own"}'), 1)
  t.equal(await daemon.metric('edged_pipeline_transform_records_out_total{pipeline="web"}'), 2)
  t.equal(await daemon.metric('edged_pipeline_transform_records_invalid_total{pipeline="own"}'), 1)
  t.equal(await daemon.metric('edged_pipeline_transform_restarts_total{pipeline="own"}'), 0)
  t.ok(((await daemon.metric('edged_pipeline_transform_seconds_total{pipeline="own"}')) ?? 0) > 0)
  const ofColumns = async (name: string) =>
    (await daemon.metric(`edged_pipeline_parquet_${name}_total{pipeline="columns"}`)) ?? 0
  await until(async () => (await ofColumns('files')) > 0)
  for (const name of ['row_groups', 'bytes', 'seconds']) t.ok((await ofColumns(name)) > 0, name)
})

t.test('a reload runs the new code of a module, and keeps the code if the new one is broken', options, async (t) => {
  const folder = testFolder(t)
  const write = async (name: string, code: string) => await writeFile(join(folder, name), code)
  await write('part.js', 'export const version = 1')
  const code = (more: string) => `import { version } from './part.js'
export default { record: ({ n, ClientRequestPath: path }) => n === 0 ? null : { n: n ?? path, version${more} } }`
  await write('clean.js', code(''))
  const { url } = await startOrigin(t, (_request, response) => void response.end('hello'))
  const port = await freePort()
  const common = { max_upload_interval_seconds: 1, transform: './clean.js' }
  const source = { http: `127.0.0.1:${port}` }
  const config = configuration(url, {
    pipelines: [
      { ...common, name: 'web', source, dataset: 'any', destination_conf: 'file:web' },
      { ...common, name: 'own', source: { zone: ZONE }, dataset: 'http_requests', destination_conf: 'file:own' },
    ],
  })
  const daemon = await startDaemon(t, config, folder)
  await until(() => daemon.lines.some((line) => line.includes(`listening on http://127.0.0.1:${port}`)))
  const post = async (n: number) =>
    t.equal((await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: `{"n":0}\n{"n":${n}}\n` })).status, 202)
  const visit = async (path: string) => {
    const response = await request(`${daemon.proxy}${path}`, { headers: { host: 'example.test' } })
    await response.body.dump()
  }
  const delivered = async (name: string, text: string) =>
    await until(async () => (await textOf(join(folder, name))).includes(text))
  await post(1)
  await visit('/1')
  await delivered('web', '{"n":1,"version":1}')
  await delivered('own', '{"n":"/1","version":1}')

  // The configuration file stays the same.
  await write('part.js', 'export const version = 2')
  await daemon.reload(config)
  t.match(daemon.lines.at(-1), /"changed":\["pipelines: changed web","pipelines: changed own"\]/)
  await post(2)
  await visit('/2')
  await delivered('web', '{"n":2,"version":2}')
  await delivered('own', '{"n":"/2","version":2}')

  await write('clean.js', code(' }'))
  await daemon.reload(config, 'reload_failed')
  t.match(daemon.lines.at(-1), /clean\.js:2:\d+: .*SyntaxError/)
  await post(3)
  await delivered('web', '{"n":3,"version":2}')

  await write('clean.js', code(', again: true'))
  await daemon.reload(config)
  t.notOk(daemon.lines.some((line) => line.includes('restart_needed')))
  await post(4)
  await delivered('web', '{"n":4,"version":2,"again":true}')
  t.equal(await daemon.metric('edged_pipeline_transform_restarts_total{pipeline="web"}'), 0)
})

t.test('tail shows what a module returns, as the destination gets it', options, async (t) => {
  const folder = testFolder(t, {
    'clean.js':
      'export default { record: ({ n, ClientRequestPath: path }) => n === 0 ? null : [1, 2].map((copy) => ({ n: n ?? path, copy, secret: "s" })) }',
  })
  const { url } = await startOrigin(t, (_request, response) => void response.end('hello'))
  const port = await freePort()
  const common = {
    max_upload_interval_seconds: 1,
    transform: './clean.js',
    redact: { secret: 'mask' },
    set: { from: 'x' },
  }
  const source = { http: `127.0.0.1:${port}` }
  const output_options = { output_type: 'csv', field_names: ['/copy', '/n', '/secret'] }
  const config = configuration(url, {
    pipelines: [
      {
        name: 'web',
        source,
        dataset: 'any',
        routes: [
          { ...common, name: 'lines', destination_conf: 'file:lines' },
          { ...common, name: 'csv', output_options, destination_conf: 'file:csv' },
        ],
      },
      { ...common, name: 'own', source: { zone: ZONE }, dataset: 'http_requests', destination_conf: 'file:own' },
    ],
  })
  const daemon = await startDaemon(t, config, folder)
  await until(() => daemon.lines.some((line) => line.includes(`listening on http://127.0.0.1:${port}`)))
  const even = '{"where":{"key":"n","operator":"gt","value":7}}'
  const watched = {
    lines: tail(t, daemon, ['web/lines']),
    csv: tail(t, daemon, ['web/csv']),
    own: tail(t, daemon, ['own']),
    filtered: tail(t, daemon, ['web/lines', '--filter', even, '--fields', 'copy,secret']),
  }
  const send = async (n: number) => {
    await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: `{"n":0}\n{"n":${n}}\n` })
    const response = await request(`${daemon.proxy}/${n}`, { headers: { host: 'example.test' } })
    await response.body.dump()
  }
  // Until all listen, records pass unseen.
  await until(async () => {
    await send(8)
    return Object.values(watched).every(({ lines }) => lines().length > 0)
  })
  await send(9)
  const out = async (name: string) => await textOf(join(folder, name))
  for (const name of ['lines', 'csv', 'own'] as const) {
    const end =
      name === 'csv' ? '2,9,"***"\n' : `{"n":${name === 'own' ? '"/9"' : 9},"copy":2,"secret":"***","from":"x"}\n`
    await until(async () => watched[name].out().endsWith(end) && (await out(name)).endsWith(end))
    t.ok((await out(name)).endsWith(watched[name].out()), `${name}: ${watched[name].out()}`)
    t.ok(watched[name].lines().length % 2 === 0)
  }
  t.same(watched.filtered.lines().slice(0, 2), ['{"copy":1,"secret":"***"}', '{"copy":2,"secret":"***"}'])
})

t.test('edged run reads modules again at SIGHUP', options, async (t) => {
  const port = await freePort()
  const folder = testFolder(t, {
    'clean.js': 'export default { record: ({ n }) => ({ n, version: 1 }) }',
    'p.yaml': `source: { http: 127.0.0.1:${port} }
dataset: any
transform: ./clean.js
max_upload_interval_seconds: 1
destination_conf: file:out
`,
  })
  const child = spawn(process.execPath, [CLI, 'run', join(folder, 'p.yaml')], { env: { PATH: process.env['PATH'] } })
  t.teardown(() => child.kill('SIGKILL'))
  let told = ''
  child.stderr.on('data', (text: Buffer) => (told += text.toString()))
  const ended = once(child, 'close')
  await until(() => told.includes('listening'))
  const sent = async (n: number, version: number) => {
    await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: `{"n":${n}}\n` })
    await until(async () => (await textOf(join(folder, 'out'))).includes(`{"n":${n},"version":${version}}\n`))
  }
  await sent(1, 1)
  const renewed = async (code: string, message: RegExp) => {
    await writeFile(join(folder, 'clean.js'), code)
    told = ''
    child.kill('SIGHUP')
    await until(() => told.includes('clean.js'))
    t.match(told, message)
  }
  await renewed('export default { record: ({ n }) => ({ n, version: 2 }) }', /clean\.js was read again and runs/)
  await sent(2, 2)
  await renewed('export default { record: ({ n }) => ({ n, version: 2 }) }', /clean\.js has not changed/)
  for (const [broken, message] of [
    ['export default { record: (', /clean\.js stays as it was: .*clean\.js:1:\d+: SyntaxError/],
    ['export const record = (record) => record', /stays as it was: .*clean\.js: has no default export/],
    ['throw new Error("at the start")', /stays as it was: .*at the start/],
    ['import "./none.js"', /stays as it was: none\.js does not exist, which clean\.js imports/],
  ] as const)
    await renewed(broken, message)
  await sent(3, 2)
  child.kill('SIGTERM')
  t.same(await ended, [0, null])
})
