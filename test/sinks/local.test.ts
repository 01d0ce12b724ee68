import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import { t } from 'tap'
import { file } from '../../sinks/file.js'
import { stdoutTo } from '../../sinks/stdout.js'
import { testFolder } from '../helpers/folder.js'
import { batchOf, never, sinkDeps, unzipped } from '../helpers/sink-deps.js'

t.test('files', async (t) => {
  const root = testFolder(t, { other: {} })
  const deps = sinkDeps({ allowFileUnder: [join(root, 'logs')] })
  const to = (rest: string) => file.open(new URL(`file://${root}/logs${rest}`), deps)

  await t.test('hold a batch as it is, in folders that are made for it', async (t) => {
    const sink = to('/a%20b/{DATE}')
    t.match(sink, { encoding: 'identity', daily: true })
    await sink.write(batchOf('{"a":1}\n', 'identity', { name: 'one' }), never)
    t.equal(await readFile(join(root, 'logs/a b/20261121/one.log'), 'utf8'), '{"a":1}\n')
    await sink.write(batchOf('{"a":2}\n', 'identity', { name: 'one' }), never)
    t.equal(await readFile(join(root, 'logs/a b/20261121/one.log'), 'utf8'), '{"a":2}\n', 'again: replaced')
    t.strictSame(await readdir(join(root, 'logs/a b/20261121')), ['one.log'], 'nothing else is left')
    await sink.close()
  })

  await t.test('are gzipped where the destination says so', async (t) => {
    const sink = to('/zipped?gzip=true')
    t.equal(sink.encoding, 'gzip')
    await sink.write(batchOf('{"a":1}\n', 'gzip', { name: 'one' }), never)
    t.equal(unzipped(await readFile(join(root, 'logs/zipped/one.log.gz'))), '{"a":1}\n')
  })

  await t.test('a check leaves nothing but folders, a challenge stays', async (t) => {
    const sink = to('/checked')
    await sink.check(never)
    t.strictSame(await readdir(join(root, 'logs/checked')), [])
    t.equal(await sink.put?.('challenge.txt', 'token', never), join(root, 'logs/checked/challenge.txt'))
    t.equal(await readFile(join(root, 'logs/checked/challenge.txt'), 'utf8'), 'token')
  })

  await t.test('are never outside of the folders of the operator', (t) => {
    for (const path of ['/logs', '/logs/a', '/logs/..a', '/logs/a/../b'])
      t.doesNotThrow(() => file.check?.(new URL(`file://${root}${path}`), deps), path)
    for (const path of ['/other', '/logs2', '/', '/logs/../other', '/logs/%2e%2e/other', '/logs%2f..%2fother'])
      t.throws(() => file.open(new URL(`file://${root}${path}`), deps), { name: 'InvalidInput' }, path)
    t.end()
  })

  await t.test('a link on the way is not followed', async (t) => {
    await mkdir(join(root, 'logs'), { recursive: true })
    await symlink(join(root, 'other'), join(root, 'logs/link'))
    const failure = { name: 'SinkError', failure: 'refused', message: /is not a folder/ } as const
    await t.rejects(to('/link').write(batchOf('x\n', 'identity'), never), failure)
    await t.rejects(to('/link/deeper').write(batchOf('x\n', 'identity'), never), failure)
    t.strictSame(await readdir(join(root, 'other')), [])
  })

  await t.test('a link in the place of the file is replaced, and of the unfinished one too', async (t) => {
    await mkdir(join(root, 'logs/trap'), { recursive: true })
    await writeFile(join(root, 'other/victim'), 'safe')
    for (const name of ['one.log', '.one.log.tmp'])
      await symlink(join(root, 'other/victim'), join(root, 'logs/trap', name))
    await to('/trap').write(batchOf('x\n', 'identity', { name: 'one' }), never)
    t.equal(await readFile(join(root, 'other/victim'), 'utf8'), 'safe')
    t.equal(await readFile(join(root, 'logs/trap/one.log'), 'utf8'), 'x\n')
  })

  await t.test('a body that fails, and an attempt that is given up, leave the file as it was', async (t) => {
    const sink = to('/kept')
    const good = batchOf('good\n', 'identity', { name: 'one' })
    await sink.write(good, never)
    const body = {
      ...good.body,
      async *read() {
        yield Buffer.from('half')
        throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
      },
    }
    await t.rejects(sink.write({ ...good, body }, never), { failure: 'transient', message: /ENOSPC$/ })
    await t.rejects(sink.write(good, AbortSignal.abort(new Error('given up'))), { message: 'given up' })
    t.strictSame(await readdir(join(root, 'logs/kept')), ['one.log'])
    t.equal(await readFile(join(root, 'logs/kept/one.log'), 'utf8'), 'good\n')
  })

  await t.test('a file where a folder should be: someone has to mend it', async (t) => {
    await writeFile(join(root, 'logs/plain'), '')
    await t.rejects(to('/plain').check(never), { name: 'SinkError', failure: 'refused' })
  })

  const REFUSED: [destination: string, message: RegExp][] = [
    [`file://${root}`, /not below/],
    [`file://${root}/logs2`, /not below/],
    [`file://${root}/logs/../other`, /not below/],
    [`file://${root}/logs/..%2fother`, /not below/],
    [`file://${root}/logs/a%00b`, /control/],
    [`file://host${root}/logs`, /has a host/],
    [`file://${root}/logs?gzip=yes`, /gzip/],
    [`file://${root}/logs?zip=true`, /unknown parameter zip/],
    [`file://${root}/logs/{TIME}`, /placeholder/],
  ]
  for (const [destination, message] of REFUSED)
    t.throws(() => file.check(new URL(destination), deps), { name: 'InvalidInput', message }, destination)
  t.throws(
    () => file.check(new URL('file:///etc'), sinkDeps()),
    { message: /not below/ },
    'nothing is allowed by default',
  )
})

t.test('standard output', async (t) => {
  const deps = sinkDeps()
  const open = (stream: Writable) => stdoutTo(() => stream).open(new URL('stdout:'), deps)

  await t.test('gets the text of all batches', async (t) => {
    const stream = new PassThrough()
    const sink = open(stream)
    await sink.check(never)
    await sink.write(batchOf('one\n', 'identity'), never)
    await sink.write(batchOf('two\n', 'identity'), never)
    await sink.close()
    t.equal(String(stream.read()), 'one\ntwo\n')
    t.equal(stream.listenerCount('error'), 0)
  })

  await t.test('that is closed is reported, and ends nothing else', async (t) => {
    const stream = new Writable({
      highWaterMark: 1,
      write: (_piece, _encoding, done) => done(Object.assign(new Error('broken'), { code: 'EPIPE' })),
    })
    const sink = open(stream)
    await t.rejects(sink.write(batchOf('one\n', 'identity'), never), { failure: 'refused', message: /EPIPE$/ })
    await t.rejects(sink.write(batchOf('one\n', 'identity'), never), { failure: 'refused', message: /is closed$/ })
    await sink.close()
  })

  t.throws(() => stdoutTo(() => process.stdout).check(new URL('stdout:'), { ...deps, allowStdout: false }), {
    name: 'InvalidInput',
    message: /pipeline files only/,
  })
})

t.test('destinations in one folder can be checked concurrently, and leave no file', async (t) => {
  const root = testFolder(t)
  const deps = sinkDeps({ allowFileUnder: [root] })
  const sinks = Array.from({ length: 8 }, () => file.open(new URL(`file://${root}/logs`), deps))
  await Promise.all(sinks.map(async (sink) => await sink.check(never)))
  t.strictSame(await readdir(join(root, 'logs')), [])
})
