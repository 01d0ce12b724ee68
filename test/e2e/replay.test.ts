import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { testFolder } from '../helpers/folder.js'
import { CLI, unbuilt } from './daemon.js'

const options = { skip: unbuilt, timeout: 600_000 }

async function replay(args: readonly string[]) {
  const child = spawn(process.execPath, [CLI, 'replay', ...args], { env: { PATH: process.env['PATH'] } })
  let out = ''
  let errors = ''
  child.stdout.on('data', (text: Buffer) => (out += text.toString()))
  child.stderr.on('data', (text: Buffer) => (errors += text.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, errors, summary: out === '' ? undefined : (JSON.parse(out) as object) }
}

/** An Elasticsearch that refuses single documents, and fails while `isDown`. */
async function elasticsearch(t: Test, refuses: (id: string) => boolean) {
  const stored: string[] = []
  const state = { isDown: false, afterBatches: Infinity }
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      if (state.isDown || state.afterBatches-- <= 0) return void response.writeHead(503).end()
      const body = Buffer.concat(chunks)
      const text = (request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString()
      const documents = text.split('\n').filter((_line, at) => at % 2 === 1)
      const items = documents.map((line) => {
        const { id } = JSON.parse(line) as { id: string }
        const status = refuses(id) ? 400 : 201
        if (status === 201) stored.push(id)
        return { create: { status, ...(status === 400 && { error: { type: 'mapper_parsing_exception' } }) } }
      })
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ errors: true, items }))
    })().catch(() => response.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close().closeAllConnections())
  const { port } = server.address() as AddressInfo
  return { stored, state, to: `elasticsearch://127.0.0.1:${port}/logs?tls=false` }
}

const ids = (count: number) => Array.from({ length: count }, (_, n) => `r${n}`)
const lines = (names: readonly string[]) => names.map((id) => `{"id":"${id}","n":12345678901234567890}\n`).join('')

t.test('a dead letter file is sent again, once, and what is refused again is kept', options, async (t) => {
  const folder = testFolder(t)
  const server = await elasticsearch(t, (id) => id === 'r7' || id === 'r2007')
  mkdirSync(join(folder, 'dead'))
  const file = join(folder, 'dead', 'a.log.gz')
  writeFileSync(file, gzipSync(lines(ids(2500))))
  const pipeline = join(folder, 'p.yaml')
  writeFileSync(
    pipeline,
    `pipelines:
  - { name: a, source: stdin, dataset: any, destination_conf: '${server.to}', dead_letter: 'file:dead/{DATE}' }
  - { name: b, source: stdin, dataset: any, destination_conf: 'file:out', dead_letter: 'file:other' }
`,
  )
  // Down after the first batch: the second run goes on behind it.
  server.state.afterBatches = 1
  const first = await replay([file, '-c', pipeline, '--retry-for', '0'])
  t.equal(first.code, 5)
  t.match(first.errors, /503.*the same command sends the rest/s)
  t.match(first.summary, { delivered: 999, failed: 1 })
  server.state.afterBatches = Infinity
  const second = await replay([file, '-c', pipeline])
  t.equal(second.code, 5)
  t.match(second.errors, /2 records were rejected again; they are in .*a\.log\.gz\.failed/)
  t.strictSame(second.summary, { read: 2500, delivered: 2498, failed: 2, batches: 3 })
  t.equal(readFileSync(`${file}.failed`, 'utf8'), lines(['r7', 'r2007']))
  t.equal(server.stored.length, 2498)
  t.equal(new Set(server.stored).size, 2498)

  const third = await replay([file, '-c', pipeline])
  t.equal(third.code, 5, 'nothing is sent again')
  t.match(third.errors, /an earlier run sent 2500 records, which are not sent again; see .*a\.log\.gz\.replay/)
  t.equal(server.stored.length, 2498)
  const rest = await replay([`${file}.failed`, '--destination', `file://${join(folder, 'rest')}`])
  t.equal(rest.code, 0)
  t.strictSame(rest.summary, { read: 2, delivered: 2, failed: 0, batches: 1 })
})

t.test('a dead letter file is sent to each destination as a whole', options, async (t) => {
  const folder = testFolder(t, { 'a.log': lines(ids(10)) })
  const file = join(folder, 'a.log')
  const [one, other] = [await elasticsearch(t, () => false), await elasticsearch(t, () => false)]
  const to = async (destination: string) => await replay([file, '--destination', destination])
  t.match(await to(`${one.to}&key=secret-one`), { code: 0, errors: '' })
  const second = await to(other.to)
  t.match(second, { code: 0, summary: { read: 10, delivered: 10, failed: 0, batches: 1 } })
  t.match(second.errors, /^edged: starting over: the state in .*a\.log\.replay belongs to a run to elasticsearch:/)
  t.notMatch(second.errors, /secret-one/)
  t.strictSame([one.stored.length, other.stored.length], [10, 10])
})

t.test('a damaged dead letter file is sent up to the damage', options, async (t) => {
  const folder = testFolder(t)
  const server = await elasticsearch(t, () => false)
  const file = join(folder, 'a.log.gz')
  writeFileSync(file, gzipSync(lines(ids(1500))).subarray(0, -8))
  for (const _run of ['first', 'again']) {
    const { code, errors, summary } = await replay([file, '--destination', server.to])
    t.equal(code, 5)
    t.match(errors, /a\.log\.gz is damaged behind line 1500, byte \d+ of its text: unexpected end of file; /)
    t.match(summary, { read: 1500, delivered: 1500, failed: 0 })
    t.equal(server.stored.length, 1500, 'each record is sent once')
  }
})

t.test('replay says which file or option is missing', options, async (t) => {
  const folder = testFolder(t, { 'a.log': lines(['a']) })
  const file = join(folder, 'a.log')
  const two = join(folder, 'two.yaml')
  const one = (name: string) => `  - { name: ${name}, source: stdin, dataset: any, destination_conf: 'file:${name}' }\n`
  writeFileSync(two, `pipelines:\n${one('a')}${one('b')}`)
  const WRONG: [args: readonly string[], message: RegExp][] = [
    [['nowhere.log'], /no such file: .*nowhere.log/],
    [[file], /no destination; name the pipeline file with -c/],
    [[file, '--destination', 'nope:'], /--destination must begin with/],
    [[file, '-c', two], /several outputs of .* can have written .*--pipeline, for example a/],
    [[file, '-c', two, '--pipeline', 'c'], /has no pipeline c, only a, b/],
  ]
  for (const [args, message] of WRONG) {
    const { code, errors } = await replay(args)
    t.equal(code, 2)
    t.match(errors, message)
  }
  const good = await replay([file, '-c', two, '--pipeline', 'b'])
  t.equal(good.code, 0)
})
