import { join } from 'node:path'
import t from 'tap'
import { readConfig } from '../../src/config/load.js'
import type { Config } from '../../src/config/schema.js'
import { silentLog } from '../../src/core/log.js'
import { startDaemon } from '../../src/daemon/index.js'
import { testFolder } from '../helpers/folder.js'
import { freePort } from '../helpers/free-port.js'
import { sendRaw } from '../helpers/proxy.js'

const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'

function configOf(folder: string, proxyPort: number, zone: string): Config {
  return readConfig(
    `data: ./data
log: { level: error }
proxy: { listen: "127.0.0.1:${proxyPort}" }
control: { listen: "127.0.0.1:0" }
admin: { listen: "127.0.0.1:0" }
accounts: [{ id: ${ACCOUNT}, name: Example }]
zones: [{ id: 9f1839b6152d298aca64c4e906b6d074, account: ${ACCOUNT}, name: ${zone}, origin: demo }]`,
    join(folder, 'test.yaml'),
    {},
  )
}

t.test(
  'configurations that come at once are taken over one after the other, and none once the end has begun',
  async (t) => {
    const folder = testFolder(t)
    const daemon = await startDaemon(configOf(folder, 0, 'one.test'), { log: silentLog })
    t.teardown(() => daemon.close())
    const port = await freePort()
    const two = configOf(folder, port, 'two.test')
    await Promise.all([daemon.reload(two), daemon.reload(two), daemon.reload(configOf(folder, port, 'three.test'))])
    const ask = async (host: string) =>
      (await sendRaw(port, `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).status
    t.same([await ask('one.test'), await ask('two.test'), await ask('three.test')], [404, 404, 200])

    const closed = daemon.close()
    await t.rejects(daemon.reload(two), { message: 'shutting down' })
    await closed
  },
)
