import t from 'tap'
import { AuditedStore } from '../../src/daemon/logs/audit-log.js'
import { silentLog } from '../../src/core/log.js'
import { openStore } from '../../src/store/index.js'
import { storeContract } from '../contracts/store.js'
import { testFolder } from '../helpers/folder.js'
import { NO_REDIS, redisServer } from '../helpers/redis.js'

storeContract(t, 'memory', () => ({
  durable: false,
  open: (options) => openStore('memory', { folder: '', log: silentLog, ...options }),
}))

storeContract(t, 'with somebody told of changes', () => ({
  durable: false,
  open: async (options) => new AuditedStore(await openStore('memory', { folder: '', log: silentLog, ...options })),
}))

storeContract(t, 'embedded', (t) => {
  const folder = testFolder(t)
  return { durable: true, open: (options) => openStore('embedded', { folder, log: silentLog, ...options }) }
})

if (NO_REDIS) t.test('redis', { skip: NO_REDIS }, async () => undefined)
else {
  const server = await redisServer(testFolder(t), '--databases', '64')
  t.teardown(() => server.kill())
  let database = 0
  storeContract(t, 'redis', () => {
    database += 1
    const url = `redis://127.0.0.1:${server.port}/${database}`
    return { durable: true, open: (options) => openStore(url, { folder: '', log: silentLog, ...options }) }
  })
}
