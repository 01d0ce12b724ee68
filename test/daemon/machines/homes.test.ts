import { once } from 'node:events'
import * as fs from 'node:fs/promises'
import { cp, mkdir, readFile } from 'node:fs/promises'
import { connect as connectPlain } from 'node:net'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import t, { type Test } from 'tap'
import { silentLog } from '../../../src/core/log.js'
import { WORKER_DATA_HOMES, WORKER_DATA_LEASES, WORKER_MACHINES } from '../../../src/core/model/worker-data.js'
import { account, DAEMON } from '../../../src/core/scope.js'
import type { Store } from '../../../src/core/store.js'
import { dial } from '../../../src/daemon/machines/link.js'
import { WorkerHomeServer } from '../../../src/daemon/machines/home-server.js'
import { WorkerHomes } from '../../../src/daemon/machines/homes.js'
import type { Disk } from '../../../src/disk/durable-write.js'
import { hostAndPort } from '../../../src/http/listen.js'
import { openMemory } from '../../../src/store/memory.js'
import { DataAway } from '../../../src/workers/runtime/data-homes.js'
import { testFolder } from '../../helpers/folder.js'
import { HandClock } from '../../helpers/hand-clock.js'
import { until } from '../../helpers/web.js'

const SCOPE = account('023e105f4ecef8ad9ca31a8372d0c353')
const KEY = Buffer.alloc(32, 7)
const OTHER_KEY = Buffer.alloc(32, 8)

const memory = (): Store =>
  openMemory({ folder: '', log: silentLog, clock: new HandClock(), retention: { entries: 10 } })

interface Machine {
  readonly homes: WorkerHomes
  readonly clock: HandClock
  readonly folder: string
  readonly metrics: Registry
}

/** A machine on a store. Time passes for each of them by itself. */
function machine(
  t: Test,
  store: Store,
  self: string,
  more: { address?: string; keys?: readonly Buffer[]; disk?: Disk } = {},
): Machine {
  const clock = new HandClock()
  const metrics = new Registry()
  const folder = testFolder(t, { [self]: {} })
  const { address = '127.0.0.1:1', keys = [KEY], disk = fs } = more
  const homes = new WorkerHomes({
    store,
    clock,
    log: silentLog,
    metrics,
    folder: join(folder, self),
    self,
    address,
    keys,
    disk,
  })
  t.teardown(async () => await homes.close())
  return { homes, clock, folder: join(folder, self), metrics }
}

/** Lets the others notice that a machine no longer renews its presence. */
async function expire({ clock }: Machine, store: Store, gone: string): Promise<void> {
  await until(async () => {
    await clock.advance(2500)
    return store.get(WORKER_MACHINES, DAEMON, gone) === undefined
  })
}

t.test('the machine that needs data first has it, and no other one takes it', async (t) => {
  const store = memory()
  const [one, two] = [machine(t, store, 'one'), machine(t, store, 'two')]
  await one.homes.claim(SCOPE, false)
  t.notOk(one.homes.isTaken(SCOPE), 'a start takes nothing')
  t.same(await one.homes.place(SCOPE), { place: 'none', machine: null })
  await Promise.all([one.homes.claim(SCOPE, true), two.homes.claim(SCOPE, true)])
  t.ok(two.homes.isTaken(SCOPE))
  const [here, other] = one.homes.isHere(SCOPE) ? [one, two] : [two, one]
  t.notOk(other.homes.isHere(SCOPE))
  await expire(other, store, here === one ? 'one' : 'two')
  await other.homes.claim(SCOPE, true)
  t.notOk(other.homes.isHere(SCOPE), 'its lease is free, but the data is not there')
  t.ok(here.homes.isHere(SCOPE), 'the machine with the data goes on')
  t.match(await here.homes.place(SCOPE), { place: 'here' })
  t.match(await other.homes.place(SCOPE), { place: 'away', machine: here === one ? 'one' : 'two' })
})

t.test('a machine that has files of the data takes it at its start', async (t) => {
  const store = memory()
  const one = machine(t, store, 'one')
  await mkdir(join(one.folder, SCOPE.id, 'namespace'), { recursive: true })
  await one.homes.claim(SCOPE, false)
  t.ok(one.homes.isHere(SCOPE))
})

t.test('a copy of the folder runs when the machine with the original is gone, and never beside it', async (t) => {
  const store = memory()
  const [one, two] = [machine(t, store, 'one'), machine(t, store, 'two')]
  await one.homes.claim(SCOPE, true)
  await cp(one.folder, two.folder, { recursive: true })
  await two.homes.claim(SCOPE, true)
  t.same([one.homes.isHere(SCOPE), two.homes.isHere(SCOPE)], [true, false])
  const both: boolean[] = []
  const unwatch = store.watch(() => both.push(one.homes.isHere(SCOPE) && two.homes.isHere(SCOPE)))
  await expire(two, store, 'one')
  await until(async () => {
    await two.clock.advance(2500)
    return two.homes.isHere(SCOPE)
  })
  unwatch()
  t.same([one.homes.isHere(SCOPE), store.get(WORKER_DATA_LEASES, SCOPE, 'data')?.value.owner], [false, 'two'])
  t.notOk(both.includes(true))
  await one.homes.claim(SCOPE, true)
  t.notOk(one.homes.isHere(SCOPE), 'it does not get it back while the other one is there')
})

t.test('a folder that is moved to a machine during its first claim keeps its name', async (t) => {
  const store = memory()
  const one = machine(t, store, 'one')
  let isMoved = false
  const disk = {
    ...fs,
    open: async (path: string, flags?: string) => {
      if (flags?.startsWith('w') && !isMoved) {
        isMoved = true
        await one.homes.claim(SCOPE, true)
        await cp(one.folder, two.folder, { recursive: true })
      }
      return await fs.open(path, flags)
    },
  }
  const two = machine(t, store, 'two', { disk: disk as Disk })
  await two.homes.claim(SCOPE, true)
  const name = await readFile(join(two.folder, SCOPE.id, 'home'), 'utf8')
  if (!t.equal(name, `${store.get(WORKER_DATA_HOMES, SCOPE, 'data')!.value.data}\n`)) return
  await one.homes.close()
  await expire(two, store, 'one')
  await until(async () => {
    await two.clock.advance(2500)
    return two.homes.isHere(SCOPE)
  })
})

t.test('a name that a crash has torn is replaced', async (t) => {
  const store = memory()
  const one = machine(t, store, 'one')
  await mkdir(join(one.folder, SCOPE.id), { recursive: true })
  await fs.writeFile(join(one.folder, SCOPE.id, 'home'), '\0'.repeat(40))
  await one.homes.claim(SCOPE, true)
  t.ok(one.homes.isHere(SCOPE))
})

/** A machine with the data, which repeats what it is sent in a call. */
async function server(t: Test, keys: readonly Buffer[] = [KEY]) {
  const config = { machines: { listen: '127.0.0.1:0', advertise: null }, store: 'redis://127.0.0.1:1/0' }
  const opened = await WorkerHomeServer.open(config, { keys, self: 'one', clock: new HandClock(), log: silentLog })
  t.teardown(() => opened.close())
  opened.serve({
    accept: async (_scope, client, call, done) => {
      if (call.script === 'refused') throw new DataAway('not here')
      done()
      client.pipe(client)
    },
    caughtUp: async () => new Map([['app', 'x'.repeat(5000)]]),
  })
  return opened
}

t.test('calls reach the machine with the data', async (t) => {
  const store = memory()
  const { address, close } = await server(t).then((opened) => ({
    address: opened.address,
    close: () => opened.close(),
  }))
  const one = machine(t, store, 'one', { address })
  await one.homes.claim(SCOPE, true)
  const two = machine(t, store, 'two', { keys: [OTHER_KEY, KEY] })
  const socket = await two.homes.connect(SCOPE, { script: 'app', mayStay: false })
  socket.write('bytes')
  t.equal(String((await once(socket, 'data'))[0]), 'bytes')
  socket.destroy()
  t.ok(await two.homes.responds(SCOPE))
  t.equal((await two.homes.apply(SCOPE)).get('app')?.length, 1000)
  await t.rejects(two.homes.connect(SCOPE, { script: 'refused', mayStay: false }), {
    name: 'DataAway',
    message: 'not here',
  })
  t.equal(two.homes.away(SCOPE), undefined)
  t.same(await two.homes.place(SCOPE), { place: 'elsewhere', machine: 'one' })

  const stranger = machine(t, store, 'stranger', { keys: [OTHER_KEY] })
  await t.rejects(stranger.homes.connect(SCOPE, { script: 'app', mayStay: false }), { name: 'DataAway' })

  close()
  await t.rejects(two.homes.connect(SCOPE, { script: 'app', mayStay: false }), { message: /does not respond/ })
  t.match(two.homes.away(SCOPE), /does not respond/, 'no further request tries it for a second')
  t.match(await two.metrics.metrics(), /edged_worker_data_accounts\{place="away"\} 1/)
  await two.clock.advance(1000)
  t.equal(two.homes.away(SCOPE), undefined, 'then one may try again')
})

t.test('what other programs send to the port harms nothing', async (t) => {
  const { address } = await server(t)
  const { host, port } = hostAndPort(address)
  const plain = connectPlain(port, host)
  plain.on('error', () => undefined)
  plain.write('GET / HTTP/1.1\r\n\r\n')
  await once(plain, 'close')
  await t.rejects(dial(address, [OTHER_KEY]))
  for (const [line, reply] of [
    ['no JSON\n', /error/],
    ['{"to":"two","account":"a","call":"ping"}\n', /machines\.listen/],
    ['x'.repeat(2_000_000), /too long/],
  ] as const) {
    const socket = await dial(address, [KEY])
    socket.write(line)
    t.match(String((await once(socket, 'data'))[0]), reply)
    socket.destroy()
  }
  const socket = await dial(address, [KEY])
  socket.write('{"to":"one","account":"a","call":"ping"}\n')
  t.equal(String((await once(socket, 'data'))[0]), '{}\n')
  socket.destroy()
})
