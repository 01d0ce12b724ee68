import t from 'tap'
import { testFolder } from '../helpers/folder.js'
import { ask, until } from '../helpers/web.js'
import { ACCOUNT, configuration, startDaemon, unbuilt, ZONE } from './daemon.js'
import { call, uploadScript } from './worker-client.js'

const REQUESTS = 40

const code = (version: number): string => `export default {
  async fetch(request) {
    const { pathname } = new URL(request.url)
    if (pathname === '/throw') throw new Error('planted')
    if (pathname === '/slow') await new Promise((resolve) => setTimeout(resolve, 300))
    const { headers } = request
    return Response.json({ version: ${version}, pathname, address: headers.get('x-real-ip'), hops: headers.get('cdn-loop') })
  },
}
`

t.test('Workers with two proxy processes', { skip: unbuilt, timeout: 240_000 }, async (t) => {
  const config = configuration('http://127.0.0.1:9', {
    zones: [{ id: ZONE, account: ACCOUNT, name: 'example.test', origin: 'http://127.0.0.1:9' }],
    processes: 2,
  })
  const daemon = await startDaemon(t, config, testFolder(t))
  const port = Number(new URL(daemon.proxy).port)
  const upload = async (version: number): Promise<void> => {
    const { status } = await uploadScript(daemon, 'app', {}, { 'main.js': code(version) })
    t.equal(status, 200)
  }
  const get = async (path: string, headers: Record<string, string> = {}) => {
    const { status, body } = await ask(port, path, { accept: '*/*', headers })
    return { status, body: status === 200 ? (JSON.parse(body.toString()) as object) : undefined }
  }
  await upload(1)
  t.match(await call(daemon, 'PUT', '/domains', { hostname: 'example.test', service: 'app' }), { status: 200 })

  await t.test('requests at the same time have their own responses, and a slow one holds no other', async (t) => {
    const slow = get('/slow')
    const paths = Array.from({ length: REQUESTS }, (_, n) => `/${n}`)
    const answered = await Promise.all(paths.map(async (path) => await get(path)))
    for (const [n, path] of paths.entries()) t.match(answered[n], { status: 200, body: { version: 1, pathname: path } })
    t.match(await slow, { status: 200, body: { pathname: '/slow' } })
  })

  await t.test('the script sees the fields of the proxy, and none that the client claims', async (t) => {
    const seen = { status: 200, body: { address: '127.0.0.1', hops: 'edged; n=1' } }
    t.match(await get('/'), seen)
    t.match(await get('/', { 'X-Real-IP': '192.0.2.1' }), seen)
    t.match(await get('/', { 'CDN-Loop': 'edged; n=2' }), { status: 200, body: { hops: 'edged; n=3' } })
  })

  await t.test('an exception is an error page, and its request is named in the log', async (t) => {
    t.match(await get('/throw'), { status: 500 })
    await until(() => daemon.lines.some((line) => line.includes('worker_exception') && line.includes('planted')))
    t.match(
      daemon.lines.find((line) => line.includes('worker_exception')),
      /"ray":"[0-9a-f]{16}"/,
    )
  })

  await t.test('an upload loses no request, and applies to the next one', async (t) => {
    const uploaded = new AbortController()
    const statuses: number[] = []
    const client = async (): Promise<void> => {
      while (!uploaded.signal.aborted) statuses.push((await get('/')).status)
    }
    const clients = [client(), client(), client(), client()]
    for (const version of [2, 3]) {
      await upload(version)
      const answered = await Promise.all([get('/'), get('/'), get('/'), get('/')])
      for (const one of answered) t.match(one, { status: 200, body: { version } })
    }
    uploaded.abort()
    await Promise.all(clients)
    t.same([...new Set(statuses)], [200])
  })
})
