import { writeFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { testFolder } from '../helpers/folder.js'
import { ask } from '../helpers/web.js'
import { NO_WRANGLER, wranglerFor } from '../helpers/wrangler.js'
import { findWorkerd } from '../../src/workers/runtime/binary.js'
import { ACCOUNT, configuration, startDaemon, TOKEN, unbuilt } from './daemon.js'

const NO_RUNTIME = findWorkerd() === undefined && 'the npm package workerd is not installed'
const DOMAIN = 'workers.example.org'

const CODE = `export default {
  async fetch(request, env) {
    await env.JOBS.send('x')
    return new Response(await (await env.FILES.get('a/b c.txt')).text())
  },
  async queue(batch, env) { await env.FILES.put('seen', batch.queue) },
}`

t.test(
  'wrangler stores objects, queues and SQL, and deploys below workers.domain',
  { skip: unbuilt || NO_WRANGLER || NO_RUNTIME, timeout: 300_000 },
  async (t) => {
    const daemon = await startDaemon(t, configuration('http://127.0.0.1:9', { workers: { domain: DOMAIN } }))
    const folder = testFolder(t, { home: {}, project: { migrations: {} } })
    const project = join(folder, 'project')
    const wrangler = wranglerFor(t, folder, { api: daemon.control, token: TOKEN, account: ACCOUNT })
    const run = async (...command: string[]): Promise<string> => {
      const ran = await wrangler('project', command)
      t.equal(ran.code, 0, `wrangler ${command.join(' ')}`)
      if (ran.code !== 0) t.comment(ran.out + ran.errors)
      return ran.out
    }
    const config = {
      name: 'app',
      main: 'index.js',
      compatibility_date: '2026-01-01',
      r2_buckets: [{ binding: 'FILES', bucket_name: 'files' }],
      queues: {
        producers: [{ queue: 'jobs', binding: 'JOBS' }],
        consumers: [{ queue: 'jobs', max_batch_timeout: 0, dead_letter_queue: 'dead' }],
      },
    }
    const files = {
      'wrangler.json': JSON.stringify(config),
      'index.js': CODE,
      'file.txt': 'hello',
      'some.sql': "CREATE TABLE t (a); INSERT INTO t VALUES ('x;y');",
      'migrations/0001_a.sql': 'CREATE TABLE m (a);',
    }
    for (const [name, text] of Object.entries(files)) await writeFile(join(project, name), text)

    await run('r2', 'bucket', 'create', 'files')
    await run('r2', 'object', 'put', 'files/a/b c.txt', '--file', 'file.txt', '--remote')
    await run('queues', 'create', 'jobs')
    await run('queues', 'create', 'dead')
    t.match(await run('deploy'), /Producer for jobs[^]*Consumer for jobs/)
    const host = `app.${ACCOUNT}.${DOMAIN}`
    const port = Number(new URL(daemon.proxy).port)
    t.equal((await ask(port, '/', { headers: { host } })).body.toString(), 'hello')
    const object = async (key: string): Promise<Response> =>
      await fetch(`${daemon.control}/accounts/${ACCOUNT}/r2/buckets/files/objects/${key}`, {
        headers: { authorization: `Bearer ${TOKEN}` },
      })
    while ((await object('seen')).status === 404) await sleep(100)
    t.equal(await run('r2', 'object', 'get', 'files/seen', '--pipe', '--remote'), 'jobs')

    await run('d1', 'create', 'db')
    const headers = { authorization: `Bearer ${TOKEN}` }
    const listed = await fetch(`${daemon.control}/accounts/${ACCOUNT}/d1/database`, { headers })
    const [database] = ((await listed.json()) as { result: { uuid: string }[] }).result
    const d1 = { d1_databases: [{ binding: 'DB', database_name: 'db', database_id: database?.uuid }] }
    await writeFile(join(project, 'wrangler.json'), JSON.stringify({ ...config, ...d1 }))
    await run('d1', 'execute', 'db', '--remote', '--file', 'some.sql')
    t.match(await run('d1', 'execute', 'db', '--remote', '--command', 'SELECT a FROM t', '--json'), /"a": "x;y"/)
    await run('d1', 'export', 'db', '--remote', '--output', 'dump.sql')
    t.match(await readFile(join(project, 'dump.sql'), 'utf8'), /CREATE TABLE t[^]*'x;y'/)
    t.match(await run('d1', 'migrations', 'apply', 'db', '--remote'), /0001_a\.sql/)
  },
)
