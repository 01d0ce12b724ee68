import t from 'tap'
import { silentLog } from '../../src/core/log.js'
import { openStore } from '../../src/store/index.js'
import { storeContract } from '../contracts/store.js'

storeContract(t, 'memory', () => ({
  durable: false,
  open: () => openStore('memory', { folder: '', log: silentLog }),
}))

storeContract(t, 'embedded', (t) => {
  const folder = t.testdir()
  return { durable: true, open: () => openStore('embedded', { folder, log: silentLog }) }
})
