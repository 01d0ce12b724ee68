import { request } from 'node:http'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { listenAdmin } from '../../../src/daemon/admin/admin.js'

/** The admin listener of a daemon that is ready. Returns a function that sends it requests. */
async function admin(t: Test, hosts: () => readonly string[] = () => [], listen = '127.0.0.1:0') {
  const listening = await listenAdmin(listen, {
    metrics: { contentType: 'text/plain', metrics: async () => 'some_metric 1\n' },
    hosts,
    notReady: () => [],
    limited: () => [],
    status: async () => ({}) as never,
    reload: async () => ({}) as never,
    backup: async () => ({ status: 503, reason: 'none' }),
  })
  t.teardown(async () => await listening.close())
  const to = listen.startsWith('unix:')
    ? { socketPath: listen.slice(5) }
    : { port: Number(new URL(listening.url).port) }
  return async (path: string, host?: string, method = 'GET') =>
    await new Promise<{ status: number; text: string }>((resolve, reject) => {
      const headers = host === undefined ? {} : { host }
      const asked = request({ ...to, path, method, headers, setHost: false }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }))
      })
      asked.on('error', reject)
      asked.end()
    })
}

t.test('names that a page of another site can have are rejected, and the message names the option', async (t) => {
  const ask = await admin(t)
  for (const path of ['/metrics', '/status', '/nowhere'])
    for (const host of [
      'evil.test',
      'evil.test:9901',
      '127.0.0.1.evil.test',
      'localhost.evil.test',
      '[evil]',
      'LOCALHOST.evil.test.',
    ])
      t.match(await ask(path, host), { status: 403, text: /admin\.hosts/ }, `${path} ${host}`)
  t.match(await ask('/reload', 'evil.test', 'POST'), { status: 403, text: /admin\.hosts/ })
  t.match(await ask('/backup', 'evil.test', 'POST'), { status: 403, text: /admin\.hosts/ })
})

t.test('IP addresses, localhost and probes are answered', async (t) => {
  const ask = await admin(t)
  for (const host of [
    '127.0.0.1',
    '127.0.0.1:9901',
    '10.0.0.5:9901',
    '[::1]:9901',
    '[::1]',
    'localhost',
    'LocalHost:9901',
    'localhost.',
  ])
    t.match(await ask('/metrics', host), { status: 200, text: /some_metric/ }, host)
  for (const path of ['/livez', '/readyz']) t.match(await ask(path, 'edged:9901'), { status: 200 }, path)
})

t.test('configured names are answered, from the next request after a reload on', async (t) => {
  let hosts: readonly string[] = ['Edged']
  const ask = await admin(t, () => hosts)
  t.match(await ask('/metrics', 'edged:9901'), { status: 200 })
  t.match(await ask('/metrics', 'other:9901'), { status: 403 })
  hosts = ['*']
  t.match(await ask('/metrics', 'other:9901'), { status: 200 })
})

t.test('the name in admin.listen and requests to a unix socket are answered', async (t) => {
  const named = await admin(t, () => [], 'localhost:0')
  t.match(await named('/metrics', 'localhost'), { status: 200 })
  // Paths of sockets have at most 107 bytes.
  const folder = await mkdtemp(join(tmpdir(), 'edged-'))
  t.teardown(async () => await rm(folder, { recursive: true }))
  const socket = await admin(t, () => [], `unix:${join(folder, 'admin.sock')}`)
  t.match(await socket('/metrics', 'edged'), { status: 200 })
})
