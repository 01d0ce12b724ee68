import { readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { ClassicLevel, type ChainedBatch, type ChainedBatchWriteOptions } from 'classic-level'
import t from 'tap'
import { openSpools } from '../../pipelines/logpush/spool/index.js'
import { file } from '../../sinks/file.js'
import { systemClock } from '../../src/core/clock.js'
import { silentLog } from '../../src/core/log.js'
import { account } from '../../src/core/scope.js'
import { kind } from '../../src/core/store.js'
import { makeFolder, writeDurably } from '../../src/disk/durable-write.js'
import { fileBlobs } from '../../src/store/blobs/file-blobs.js'
import { openStore } from '../../src/store/index.js'
import { openVault } from '../../src/store/secrets/vault.js'
import { append, lines, ZONE } from '../pipelines/logpush/spool-helper.js'
import { FaultyDisk } from '../helpers/faulty-disk.js'
import { testFolder } from '../helpers/folder.js'
import { batchOf, never, sinkDeps } from '../helpers/sink-deps.js'

const THINGS = kind<string>('thing')
const A = account('a')

/** A step of a durable write that is left out, and what a loss of power leaves then. */
const LEFT_OUT: [what: string, without: 'datasync' | 'sync', left: Record<string, string>][] = [
  ['the sync of the file', 'datasync', { state: '' }],
  ['the sync of the folder', 'sync', { state: 'old' }],
]
for (const [what, without, left] of LEFT_OUT) {
  t.test(`the fault-injecting disk loses a write without ${what}`, async (t) => {
    const folder = testFolder(t)
    const path = join(folder, 'state')
    writeFileSync(path, 'old')
    const faults = new FaultyDisk()
    const disk: typeof faults.disk = {
      ...faults.disk,
      open: async (...args) => {
        const handle = await faults.disk.open(...args)
        return new Proxy(handle, {
          get: (target, name) => {
            if (name === without) return async () => undefined
            const value: unknown = Reflect.get(target, name, target)
            return typeof value === 'function' ? value.bind(target) : value
          },
        })
      },
    }
    await writeDurably(disk, path, 'new')
    await faults.losePower(() => without === 'datasync')
    t.strictSame(
      Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')])),
      left,
    )
  })
}

t.test('a write that resolved survives a loss of power', async (t) => {
  const folder = testFolder(t)
  const faults = new FaultyDisk()
  const path = join(folder, 'state')
  await writeDurably(faults.disk, path, 'one')
  await writeDurably(faults.disk, path, [Buffer.from('t'), Buffer.from('wo')], { mode: 0o640, temporary: '.state.tmp' })
  await faults.losePower()
  t.equal(readFileSync(path, 'utf8'), 'two')
  t.strictSame(readdirSync(folder), ['state'])
})

t.test('a write that fails leaves the previous content and no temporary file', async (t) => {
  const folder = testFolder(t)
  const faults = new FaultyDisk()
  const path = join(folder, 'state')
  await writeDurably(faults.disk, path, 'one')
  faults.failWrites = 'ENOSPC'
  await t.rejects(writeDurably(faults.disk, path, 'two'), { code: 'ENOSPC' })
  faults.failWrites = undefined
  faults.failSyncs = 'EIO'
  await t.rejects(writeDurably(faults.disk, path, 'two'), { code: 'EIO' })
  faults.failSyncs = undefined
  await t.rejects(writeDurably(faults.disk, path, [Buffer.from('two')], { signal: AbortSignal.abort() }))
  t.equal(readFileSync(path, 'utf8'), 'one')
  t.strictSame(readdirSync(folder), ['state'])
  await faults.losePower()
  t.equal(readFileSync(path, 'utf8'), 'one')
})

t.test('a file has the mode that was asked for, and replaces a link of its name', async (t) => {
  const folder = testFolder(t, { victim: 'safe' })
  for (const name of ['state', '.state.tmp']) symlinkSync(join(folder, 'victim'), join(folder, name))
  await writeDurably(fs, join(folder, 'state'), 'new', { mode: 0o640, temporary: '.state.tmp' })
  t.equal(readFileSync(join(folder, 'victim'), 'utf8'), 'safe')
  t.equal(readFileSync(join(folder, 'state'), 'utf8'), 'new')
  t.equal(statSync(join(folder, 'state')).mode & 0o777, 0o640)
  await writeDurably(fs, join(folder, 'other'), '')
  t.equal(statSync(join(folder, 'other')).mode & 0o777, 0o600)
})

t.test('nested folders survive a loss of power, whichever of them were new', async (t) => {
  const folder = testFolder(t)
  const faults = new FaultyDisk()
  await makeFolder(faults.disk, join(folder, 'a'))
  const inner = await makeFolder(faults.disk, join(folder, 'a', 'b', 'c'))
  await writeDurably(faults.disk, join(inner, 'state'), 'one')
  await faults.losePower()
  t.equal(readFileSync(join(folder, 'a', 'b', 'c', 'state'), 'utf8'), 'one')
})

t.test('a folder whose creation was not synced is synced before the next use', async (t) => {
  const folder = testFolder(t)
  const faults = new FaultyDisk()
  const inner = join(folder, 'a')
  faults.failSyncs = 'EIO'
  await t.rejects(makeFolder(faults.disk, inner), { code: 'EIO' })
  faults.failSyncs = undefined
  await writeDurably(faults.disk, join(await makeFolder(faults.disk, inner), 'state'), 'one')
  await faults.losePower()
  t.equal(readFileSync(join(inner, 'state'), 'utf8'), 'one')
})

t.test('a key file that a killed start left is synced before it is used', async (t) => {
  const folder = testFolder(t)
  const keyFile = join(folder, 'secret.key')
  const store = await openStore('memory', { folder, log: silentLog })
  const faults = new FaultyDisk()
  const { disk } = faults
  let renamed = false
  const killed: typeof disk = {
    ...disk,
    rename: async (...names) => {
      await disk.rename(...names)
      renamed = true
    },
    open: async (...args) => {
      if (renamed) throw new Error('killed')
      return await disk.open(...args)
    },
  }
  await t.rejects(openVault(store, { keyFile, disk: killed }, silentLog), /killed/)
  t.ok(statSync(keyFile).isFile(), 'it was killed between the rename and the sync of the folder')
  const ring = await openVault(store, { keyFile, disk }, silentLog)
  await faults.losePower()
  t.equal((await openVault(store, { keyFile }, silentLog)).open(ring.seal('text', 'a'), 'a'), 'text')
})

t.test('a batch of the file sink survives a loss of power if the first sync of its folder failed', async (t) => {
  const root = testFolder(t)
  const faults = new FaultyDisk()
  const deps = sinkDeps({ allowFileUnder: [root], disk: faults.disk })
  const sink = file.open(new URL(`file://${root}/deep`), deps)
  faults.failSyncs = 'EIO'
  await t.rejects(sink.write(batchOf('{"a":1}\n', 'identity', { name: 'one' }), never))
  faults.failSyncs = undefined
  await sink.write(batchOf('{"a":1}\n', 'identity', { name: 'one' }), never)
  await faults.losePower()
  t.equal(readFileSync(join(root, 'deep/one.log'), 'utf8'), '{"a":1}\n')
})

// Each of these acknowledges a write only after a loss of power cannot undo it.
t.test('a stored blob survives a loss of power', async (t) => {
  const folder = join(testFolder(t), 'data', 'blobs')
  const faults = new FaultyDisk()
  const name = await fileBlobs(folder, systemClock, { disk: faults.disk }).put(Buffer.from('module'))
  await faults.losePower()
  t.equal(String(await fileBlobs(folder, systemClock).get(name)), 'module')
})

t.test('a new key file survives a loss of power', async (t) => {
  const folder = testFolder(t)
  const keyFile = join(folder, 'keys', 'secret.key')
  const store = await openStore('memory', { folder, log: silentLog })
  const faults = new FaultyDisk()
  const ring = await openVault(store, { keyFile, disk: faults.disk }, silentLog)
  await faults.losePower()
  t.equal((await openVault(store, { keyFile }, silentLog)).open(ring.seal('text', 'a'), 'a'), 'text')
})

t.test('a batch of the file sink survives a loss of power', async (t) => {
  const root = testFolder(t)
  const faults = new FaultyDisk()
  const deps = sinkDeps({ allowFileUnder: [join(root, 'logs')], disk: faults.disk })
  const sink = file.open(new URL(`file://${root}/logs/deep/{DATE}`), deps)
  await sink.write(batchOf('{"a":1}\n', 'identity', { name: 'one' }), never)
  await faults.losePower()
  t.equal(readFileSync(join(root, 'logs/deep/20261121/one.log'), 'utf8'), '{"a":1}\n')
})

t.test('the spool survives a loss of power right after the first records', async (t) => {
  const folder = join(testFolder(t), 'data', 'spool')
  const options = { clock: systemClock, log: silentLog, limits: { bytes: 1e9 } }
  const faults = new FaultyDisk()
  const spools = await openSpools(folder, { ...options, disk: faults.disk })
  const spool = await spools.open('http_requests', ZONE)
  await spool.cursor('job')
  await append(spool, [{ EdgeResponseBytes: 1 }])
  await faults.losePower()
  await spools.close()
  const again = await openSpools(folder, options)
  t.teardown(() => again.close())
  t.equal((await lines(await again.open('http_requests', ZONE))).length, 1)
})

t.test('the folder of the embedded store survives a loss of power', async (t) => {
  const folder = join(testFolder(t), 'data')
  const faults = new FaultyDisk()
  const store = await openStore('embedded', { folder, log: silentLog, disk: faults.disk })
  await store.batch([{ kind: THINGS, scope: A, id: 'x', value: 'kept' }])
  await store.close()
  await faults.losePower()
  const again = await openStore('embedded', { folder, log: silentLog })
  t.teardown(() => again.close())
  t.equal(again.get(THINGS, A, 'x')?.value, 'kept')
})

// The page cache hides a missing sync from every test that only kills the process.
t.test('every batch of the embedded store is synced', async (t) => {
  const synced: unknown[] = []
  type Batch = (this: ClassicLevel) => ChainedBatch<ClassicLevel, string, string>
  const batch = ClassicLevel.prototype.batch as Batch
  const watched: Batch = function (this: ClassicLevel) {
    const chain = batch.call(this)
    const write = chain.write.bind(chain)
    chain.write = async (options: ChainedBatchWriteOptions = {}) => {
      synced.push(options.sync)
      await write(options)
    }
    return chain
  }
  ClassicLevel.prototype.batch = watched as typeof ClassicLevel.prototype.batch
  t.teardown(() => void (ClassicLevel.prototype.batch = batch as typeof ClassicLevel.prototype.batch))
  const folder = testFolder(t)
  const store = await openStore('embedded', { folder, log: silentLog })
  for (const id of ['x', 'y']) await store.batch([{ kind: THINGS, scope: A, id, value: id }])
  await store.close()
  t.strictSame(synced, [true, true, true], 'the empty store and two records')
})
