import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import t from 'tap'
import { until } from '../helpers/web.js'
import { configuration, startDaemon, unbuilt, type Daemon } from './daemon.js'

/** Maximum heap of the daemon, so that a few hundred pages would fill it. */
const HEAP_MB = 192
const PAGES = 400
const PAGE = `<!doctype html><title>Page</title><main>${'<p>Some text with a <a href="/a">link</a>.</p>'.repeat(24_000)}</main>`

const memoryOf = ({ pid }: Daemon, name: string): number =>
  Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024

t.test(
  'clients that ask for more than the memory can hold get their responses, and the daemon stays alive',
  { skip: unbuilt || (process.platform !== 'linux' && 'needs /proc') },
  async (t) => {
    const server = createServer((_, response) =>
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(PAGE),
    )
    server.keepAliveTimeout = 600_000
    await once(server.listen(0, '127.0.0.1'), 'listening')
    t.teardown(() => {
      server.closeAllConnections()
      server.close()
    })
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const proxy = { buffer_memory: '8MB', markdown_memory: '16MB', limits: { connections_per_address: 10_000 } }
    const daemon = await startDaemon(t, configuration(origin, { proxy }), undefined, [
      `--max-old-space-size=${HEAP_MB}`,
    ])
    const page = async () => {
      const response = await fetch(daemon.proxy, { headers: { accept: 'text/markdown' } })
      return { status: response.status, type: response.headers.get('content-type'), text: await response.text() }
    }
    t.match(await page(), { status: 200, type: /text\/markdown/ })
    const before = memoryOf(daemon, 'VmRSS')

    const slow: Socket[] = []
    t.teardown(() => slow.forEach((socket) => socket.destroy()))
    const { port, hostname } = new URL(daemon.proxy)
    for (let n = 0; n < PAGES; n++) {
      const socket = connect(Number(port), hostname).on('error', () => undefined)
      socket.pause().write(`GET / HTTP/1.1\r\nHost: ${hostname}\r\nAccept: text/markdown\r\n\r\n`)
      slow.push(socket)
    }
    const pages = await Promise.all(Array.from({ length: 20 }, page))
    for (const { status, text } of pages) {
      t.equal(status, 200)
      t.match(text, /link/)
    }
    t.equal((await fetch(`${daemon.admin}/livez`)).status, 200)
    const grown = memoryOf(daemon, 'VmHWM') - before
    t.ok(grown < (PAGES * PAGE.length) / 2 ** 20 / 1.5, `${Math.round(grown)} MB more at the peak`)

    for (const socket of slow) socket.destroy()
    await until(async () => (await daemon.metric('edged_markdown_buffered_bytes')) === 0)
    t.match(await page(), { status: 200, type: /text\/markdown/ })
  },
)
