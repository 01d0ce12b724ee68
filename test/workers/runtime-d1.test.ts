import { createHash } from 'node:crypto'
import t from 'tap'
import { SKIP, workersDaemon } from './runtime-helper.js'

const skip = { skip: SKIP }

t.test('the API queries, exports and imports the databases of scripts', skip, async (t) => {
  const daemon = await workersDaemon(t)
  const id = (await daemon.api('POST', '/d1/database', { name: 'db' })).body.result.uuid as string
  const other = (await daemon.api('POST', '/d1/database', { name: 'other' })).body.result.uuid as string
  const query = async (sql: string, params?: unknown[], what = 'query', database = id) =>
    await daemon.api('POST', `/d1/database/${database}/${what}`, { sql, ...(params && { params }) })
  const made = await query("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT); INSERT INTO t VALUES (1, 'x;y'), (2, NULL)")
  t.match(made.body.result, [{ success: true }, { success: true, meta: { changes: 2, duration: Number } }])
  const rows = await query('SELECT * FROM t WHERE a < ?', [2])
  t.match(rows.body.result, [{ results: [{ a: 1, b: 'x;y' }], success: true }])
  t.same((await query('SELECT a, b FROM t', undefined, 'raw')).body.result[0].results, {
    columns: ['a', 'b'],
    rows: [
      [1, 'x;y'],
      [2, null],
    ],
  })
  const batch = [{ sql: 'INSERT INTO t VALUES (?, ?)', params: [3, 'z'] }, { sql: 'INSERT INTO t VALUES (1, 1)' }]
  const failed = await daemon.api('POST', `/d1/database/${id}/query`, { batch })
  t.match([failed.status, failed.body.errors[0]], [400, { code: 7500, message: /UNIQUE constraint/ }])
  t.equal((await query('SELECT count(*) AS n FROM t')).body.result[0].results[0].n, 2, 'a batch is one transaction')
  t.match((await query('nonsense')).body.errors[0], { code: 7500, message: /syntax error/ })
  t.equal((await daemon.api('POST', `/d1/database/${id}/query`, {})).body.errors[0].source.pointer, '/sql')
  t.equal((await query('SELECT 1', undefined, 'query', 'none')).status, 404)

  const code =
    'export default { async fetch(_, env) { return Response.json((await env.DB.prepare("SELECT b FROM t").all()).results) } }'
  await daemon.upload('app', code, { bindings: [{ name: 'DB', type: 'd1', database_id: id }] })
  await daemon.domain('app')
  const seen = await daemon.get('app.example.test', '/', { headers: { accept: 'application/json' } })
  t.same(JSON.parse(seen.text), [{ b: 'x;y' }, { b: null }])

  const exported = (await daemon.api('POST', `/d1/database/${id}/export`, { output_format: 'polling' })).body.result
  t.match(exported, { status: 'complete', success: true })
  const sql = await (await fetch(exported.result.signed_url)).text()
  t.match(sql, /CREATE TABLE t/)
  t.match(sql, /'x;y'/)

  const etag = createHash('md5').update(sql).digest('hex')
  const ingest = async (filename: string, database = other) =>
    await daemon.api('POST', `/d1/database/${database}/import`, { action: 'ingest', etag, filename })
  const { upload_url: url, filename } = (
    await daemon.api('POST', `/d1/database/${other}/import`, { action: 'init', etag })
  ).body.result
  t.equal((await ingest(filename)).status, 400, 'before the upload')
  t.equal((await fetch(url, { method: 'PUT', body: 'changed' })).status, 400, 'of other bytes')
  const uploaded = await fetch(url, { method: 'PUT', body: sql })
  t.same([uploaded.status, uploaded.headers.get('etag')], [200, `"${etag}"`])
  t.equal((await fetch(url)).status, 404, 'an upload cannot be read')
  t.equal((await ingest(filename, id)).status, 400, 'for another database')
  t.match((await ingest(filename)).body.result, { status: 'complete', result: { num_queries: Number } })
  t.equal((await query('SELECT count(*) AS n FROM t', undefined, 'query', other)).body.result[0].results[0].n, 2)
  t.equal((await ingest(filename)).status, 404, 'once')
})

const ENDLESS = 'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n'

t.test('a query without an end is stopped, and the queries of other databases do not wait for it', skip, async (t) => {
  const daemon = await workersDaemon(t, { more: 'workers: { max_stall: 5s }' })
  const create = async (name: string): Promise<string> =>
    (await daemon.api('POST', '/d1/database', { name })).body.result.uuid
  const [one, other] = [await create('one'), await create('other')]
  const query = async (id: string, sql: string) => await daemon.api('POST', `/d1/database/${id}/query`, { sql })
  await query(one, 'CREATE TABLE t (a)')
  const code = `export default { async fetch(_, env) {
    return new Response(await env.DB.prepare('SELECT 1').all().then(() => 'rows', () => 'busy'))
  } }`
  await daemon.upload('app', code, { bindings: [{ name: 'DB', type: 'd1', database_id: other }] })
  await daemon.domain('app')
  t.equal((await daemon.get('app.example.test')).text, 'rows')

  const ends: string[] = []
  const noted = async <T>(name: string, result: Promise<T>): Promise<T> => {
    const value = await result
    ends.push(name)
    return value
  }
  const endless = noted('endless', query(one, `INSERT INTO t ${ENDLESS}`))
  const busy = { status: 503, body: { errors: [{ code: 7503, message: /was not run/ }] } }
  t.match(await noted('other', query(other, 'SELECT 1')), busy)
  t.match(await noted('same', query(one, 'SELECT 1')), busy)
  t.equal((await noted('script', daemon.get('app.example.test'))).text, 'busy')
  const stopped = { status: 400, body: { errors: [{ code: 7504, message: /within 5 s \(workers\.max_stall\)/ }] } }
  t.match(await endless, stopped)
  t.same(ends, ['other', 'same', 'script', 'endless'])

  t.equal((await query(other, 'SELECT 1')).status, 200)
  t.equal((await daemon.get('app.example.test')).text, 'rows')
  t.match(
    (await query(one, 'SELECT count(*) AS n FROM t')).body.result,
    [{ results: [{ n: 0 }] }],
    'nothing was stored',
  )
})
