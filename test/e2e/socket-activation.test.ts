import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { stringify } from 'yaml'
import { testFolder } from '../helpers/folder.js'
import { startOrigin } from '../helpers/proxy.js'
import { CLI, configuration, TOKEN, unbuilt } from './daemon.js'

/** Opens a listening socket as systemd does: nobody accepts its connections yet. */
async function openSocket(): Promise<{ server: Server; fd: number; port: number }> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { fd } = (server as unknown as { readonly _handle: { readonly fd: number } })._handle
  return { server, fd, port: (server.address() as AddressInfo).port }
}

for (const [processes, names] of [
  [1, 'control:proxy'],
  [2, 'control:proxy'],
] as const)
  t.test(`sockets of systemd are used with ${processes} processes`, { skip: unbuilt, timeout: 300_000 }, async (t) => {
    const { url } = await startOrigin(t, (_request, response) => response.end('from the origin'))
    const folder = testFolder(t)
    const file = join(folder, 'edged.yaml')
    const listen = { listen: '127.0.0.1:0' }
    await writeFile(
      file,
      stringify({ data: './data', processes, proxy: listen, control: listen, admin: listen, ...configuration(url) }),
    )
    const [control, proxy] = [await openSocket(), await openSocket()]
    const script = 'LISTEN_PID=$$ exec "$0" "$1" serve -c "$2"'
    const child = spawn('sh', ['-c', script, process.execPath, CLI, file], {
      env: { ...process.env, LISTEN_FDS: '2', LISTEN_FDNAMES: names },
      stdio: ['ignore', 'pipe', 'inherit', control.fd, proxy.fd],
    })
    t.teardown(() => child.kill('SIGKILL'))
    for (const { server } of [control, proxy]) server.close()
    const ended = once(child, 'exit')
    const lines = createInterface({ input: child.stdout! })
    let ready: { proxy?: string; control?: string } = {}
    for await (const line of lines) {
      const parsed = JSON.parse(line) as typeof ready & { event?: string }
      if (parsed.event !== 'ready') continue
      ready = parsed
      break
    }
    t.match(ready, {
      proxy: `http://127.0.0.1:${proxy.port}`,
      control: `http://127.0.0.1:${control.port}/client/v4`,
    })
    const page = await fetch(`http://127.0.0.1:${proxy.port}/`)
    t.equal(await page.text(), 'from the origin')
    const zones = await fetch(`${ready.control}/zones`, { headers: { authorization: `Bearer ${TOKEN}` } })
    t.equal(zones.status, 200)
    child.stdout!.resume()
    child.kill('SIGTERM')
    t.same(await ended, [0, null])
  })
