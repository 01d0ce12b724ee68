import t from 'tap'
import { writeDurably } from '../../src/disk/durable-write.js'
import { readAt } from '../../src/disk/positioned-io.js'
import { SimulatedDisk } from './disk.js'
import { Faults, type Rates } from './faults.js'
import { Random } from './random.js'
import { Life, Scheduler } from './scheduler.js'

function setUp(rates: Rates = {}, seed = 2) {
  const scheduler = new Scheduler(new Random(1))
  const faults = new Faults(rates, new Random(seed))
  const disk = new SimulatedDisk(scheduler, faults)
  const life = new Life('first')
  /** Runs work to its end. */
  const done = async <T>(work: Promise<T>): Promise<T> => {
    const over = { yet: false }
    const end = () => void (over.yet = true)
    work.then(end, end)
    while (!over.yet) await scheduler.step()
    return await work
  }
  const content = async (path: string): Promise<string> => {
    const port = disk.port(life)
    return await done(port.open(path).then(async (file) => (await readAt(file, 0, 1000)).toString()))
  }
  return { scheduler, disk, faults, life, done, content }
}

t.test('synced data is there after a loss of power', async (t) => {
  const { disk, life, done, content } = setUp()
  await done(writeDurably(disk.port(life), '/a', 'one'))
  await done(writeDurably(disk.port(life), '/a', 'two'))
  for (let seed = 0; seed < 20; seed++) {
    disk.losePower(new Random(seed))
    t.equal(await content('/a'), 'two')
  }
  t.strictSame(await done(disk.port(life).readdir('/')), ['a'], 'no temporary file is left')
})

t.test('data that is not synced may be lost', async (t) => {
  const found = new Set<string>()
  for (let seed = 0; seed < 40; seed++) {
    const { disk, life, done, content } = setUp()
    const port = disk.port(life)
    await done(writeDurably(port, '/a', 'one'))
    await done(port.open('/a', 'r+').then(async (file) => await file.writev([Buffer.from('two')], 0)))
    await done(port.rename('/a', '/b'))
    disk.losePower(new Random(seed))
    const [name] = await done(port.readdir('/'))
    found.add(`${name} ${await content(`/${name}`)}`)
  }
  t.strictSame([...found].sort(), ['a one', 'a two', 'b one', 'b two'])
})

t.test('bytes whose sync failed may be lost although the next sync succeeds', async (t) => {
  const found = new Set<number>()
  for (let seed = 1; seed <= 40; seed++) {
    const { disk, faults, life, done } = setUp({ sync: 1 }, seed)
    const port = disk.port(life)
    const write = async () => {
      const file = await port.open('/a', 'wx')
      await file.writeFile('one')
      await t.rejects(file.datasync(), { code: 'EIO' })
      faults.end()
      await file.datasync()
      await (await port.open('/')).sync()
    }
    await done(write())
    disk.losePower(new Random(seed))
    found.add((await done(port.stat('/a'))).size)
  }
  t.strictSame(found, new Set([0, 3]))
})

t.test('a dead life changes nothing', async (t) => {
  const { scheduler, disk, life, done, content } = setUp()
  await done(writeDurably(disk.port(life), '/a', 'one'))
  const dying = new Life('dying')
  const port = disk.port(dying)
  void writeDurably(port, '/a', 'two')
  await scheduler.step()
  scheduler.kill(dying)
  void port.rm('/a')
  t.equal(await scheduler.step(), false)
  t.equal(await content('/a'), 'one')
})
