import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { testFolder } from '../helpers/folder.js'
import { originServer, until } from '../helpers/web.js'
import { ACCOUNT, configuration, startDaemon, TOKEN, unbuilt, ZONE } from './daemon.js'

/** Folder of the compiled library. */
const folder = testFolder(t)
const library = join(folder, 'held-disk.so')
const source = fileURLToPath(new URL('../../../test/helpers/held-disk.c', import.meta.url))

function compiled(): string | false {
  try {
    execFileSync('gcc', ['-shared', '-fPIC', '-o', library, source], { stdio: 'ignore' })
    return false
  } catch {
    return 'gcc is not installed'
  }
}

const SPACES = `/accounts/${ACCOUNT}/storage/kv/namespaces`
const SETTING = `/zones/${ZONE}/settings/content_converter`

t.test(
  'while the disk does not respond, pages and reads go on, and changes and records wait for it',
  { skip: unbuilt || compiled() },
  async (t) => {
    const held = join(folder, 'held')
    const logs = join(folder, 'logs')
    const closing = { connection: 'close' }
    const origin = await originServer(t, (_, response) => response.writeHead(200, closing).end('page'))
    const config = configuration(origin.replace('127.0.0.1', 'localhost'), {
      control: { listen: '127.0.0.1:0', rate_limit: { requests: 0 } },
      logpush: { destinations: { allow_file_under: [logs] } },
    })
    const within = ['env', `LD_PRELOAD=${library}`, `HELD_DISK=${held}`]
    const daemon = await startDaemon(t, config, folder, [], within)
    const settled: string[] = []
    const call = async (method: string, path: string, body?: object) => {
      const response = await fetch(`${daemon.control}${path}`, {
        method,
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      settled.push(`${method} ${path}`)
      return { status: response.status, text }
    }
    const job = { dataset: 'dns_logs', destination_conf: `file://${logs}`, enabled: true, max_upload_records: 1000 }
    t.match(await call('POST', `/zones/${ZONE}/logpush/jobs`, job), { status: 200 })
    const space = await call('POST', SPACES, { title: 'a' })
    const { id } = (JSON.parse(space.text) as { result: { id: string } }).result
    const value = `${SPACES}/${id}/values/`
    settled.length = 0

    writeFileSync(held, '')
    t.teardown(() => rmSync(held, { force: true }))
    const records = Array.from({ length: 1000 }, (_, n) => ({ QueryName: `q${n}.test` }))
    const waiting = [
      call('PATCH', SETTING, { value: 'off' }),
      call('POST', `/zones/${ZONE}/edged/records/dns_logs`, records),
      ...Array.from({ length: 8 }, async (_, n) => await call('PUT', `${value}${n}`, { text: 'x'.repeat(300_000) })),
    ]
    for (let n = 0; n < 20; n++) {
      const page = await fetch(daemon.proxy)
      t.match([page.status, await page.text()], [200, 'page'])
    }
    t.match(
      await call('GET', SETTING),
      { status: 200, text: /"value":"on"/ },
      'a change is not visible before it is durable',
    )
    t.match((await fetch(`${daemon.admin}/readyz`)).status, 200)
    t.strictSame(settled, [`GET ${SETTING}`])
    rmSync(held)
    t.match(await Promise.all(waiting), [
      { status: 200 },
      { status: 202 },
      ...Array.from({ length: 8 }, () => ({ status: 200 })),
    ])
    t.match(await call('GET', SETTING), { status: 200, text: /"value":"off"/ })
    await until(async () => {
      const names = (await readdir(logs, { recursive: true }).catch(() => [])).filter((name) => name.endsWith('.log'))
      const texts = await Promise.all(names.map(async (name) => await readFile(join(logs, name), 'utf8')))
      return texts.join('').split('"QueryName"').length === records.length + 1
    })
  },
)
