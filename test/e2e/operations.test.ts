import { readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { testFolder } from '../helpers/folder.js'
import { configuration, startDaemon, unbuilt } from './daemon.js'

/** Resolves when `check` returns a value. */
async function until<T>(check: () => Promise<T | undefined | false>): Promise<T> {
  for (;;) {
    const found = await check()
    if (found !== undefined && found !== false) return found
    await sleep(20)
  }
}

const demo = (more: object): object => {
  const config = configuration('demo', more) as { zones: object[] }
  return { ...config, zones: config.zones.map((zone) => ({ ...zone, hostnames: ['*'] })) }
}

const textOf = (file: string): Promise<string> => readFile(file, 'utf8').catch(() => '')

t.test('the access log is written to a file that SIGHUP opens again', { skip: unbuilt }, async (t: Test) => {
  const folder = testFolder(t)
  const file = join(folder, 'access.log')
  const config = demo({ access_log: { format: 'combined', file: './access.log' } })
  const daemon = await startDaemon(t, config, folder)
  await fetch(`${daemon.proxy}/one`)
  await until(async () => (await textOf(file)).includes('"GET /one HTTP/1.1" 404 '))

  await rename(file, `${file}.1`)
  await daemon.reload(config)
  await fetch(`${daemon.proxy}/two`)
  await until(async () => (await textOf(file)).includes('"GET /two HTTP/1.1"'))
  t.notMatch(await textOf(`${file}.1`), '/two')

  await daemon.reload(demo({ access_log: { file: './missing/access.log' } }), 'reload_failed')
  t.match(daemon.lines.at(-1), 'access_log.file: cannot open')
  await daemon.reload(demo({ access_log: { file: '-' } }))
  await fetch(`${daemon.proxy}/three`)
  const line = await until(async () => daemon.lines.find((line) => line.includes('"event":"request"')))
  t.match(JSON.parse(line), { method: 'GET', uri: '/three', status: 404 })
})

t.test('with a shutdown delay the proxy serves while /readyz says 503', { skip: unbuilt }, async (t: Test) => {
  const daemon = await startDaemon(t, demo({ proxy: { shutdown_delay: '1s' } }))
  t.equal((await fetch(`${daemon.admin}/readyz`)).status, 200)
  daemon.signal('SIGTERM')
  await until(async () => (await fetch(`${daemon.admin}/readyz`)).status === 503)
  t.equal((await fetch(`${daemon.proxy}/`)).status, 200)
  t.equal(await daemon.ended, 0)
})
