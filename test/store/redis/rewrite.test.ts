import { readdirSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { silentLog } from '../../../src/core/log.js'
import { account } from '../../../src/core/scope.js'
import { kind } from '../../../src/core/store.js'
import { openStore } from '../../../src/store/index.js'
import { auditEntry, found } from '../../contracts/store.js'
import { testFolder } from '../../helpers/folder.js'
import { NO_REDIS, redisServer } from '../../helpers/redis.js'

const THINGS = kind<unknown>('thing')
const A = account('a')

/** Cuts the last bytes of the append-only file in `folder`, as a crash in the middle of a write does. */
function tear(folder: string, bytes: number): void {
  const files = join(folder, 'appendonlydir')
  const last = readdirSync(files).filter((name) => name.endsWith('.incr.aof')).toSorted().at(-1)! // prettier-ignore
  truncateSync(join(files, last), statSync(join(files, last)).size - bytes)
}

t.test('a batch that a crash of Redis cut never comes back in part', { skip: NO_REDIS }, async (t) => {
  for (const bytes of [1, 20, 150, 400]) {
    const folder = testFolder(t)
    const server = await redisServer(folder)
    t.teardown(() => server.kill())
    const open = () => openStore(server.url, { folder: '', log: silentLog })
    const write = async (...names: string[]) => {
      const store = await open()
      for (const name of names) {
        const writes = ['1', '2'].map((part) => ({ kind: THINGS, scope: A, id: name + part, value: name }))
        await store.batch(writes, [auditEntry(name)])
      }
      await store.close()
      await server.kill()
    }
    await write('before', 'cut')
    tear(folder, bytes)
    await server.start()
    await write('after')
    await server.start()

    const store = await open()
    const ids = store.list(THINGS, A).map(({ id }) => id)
    t.same(ids, ['after1', 'after2', 'before1', 'before2'], `${bytes} bytes cut`)
    t.equal((await found(store.audit())).length, 2)
    await store.close()
    await server.kill()
  }
})
