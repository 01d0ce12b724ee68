import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import t from 'tap'
import { testFolder } from '../helpers/folder.js'
import { startOrigin } from '../helpers/proxy.js'
import { ACCOUNT, configuration, startDaemon, TOKEN, unbuilt, ZONE, type Daemon } from './daemon.js'

/** Connections of their own: enough for both processes to get some. */
const REQUESTS = 40

async function send(daemon: Daemon, path: string, headers: Record<string, string> = {}): Promise<void> {
  const sent = request(`${daemon.proxy}${path}`, { agent: false, headers: { host: 'example.test', ...headers } })
  sent.end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  response.resume()
  await once(response, 'close')
}

async function read({ control }: Daemon, path: string): Promise<unknown> {
  const response = await fetch(`${control}${path}`, { headers: { authorization: `Bearer ${TOKEN}` } })
  return ((await response.json()) as { result: unknown }).result
}

interface Analytics {
  readonly totals: { readonly requests: number }
  readonly points: readonly { readonly requests: number }[]
  readonly groups: readonly { readonly key: string; readonly requests: number }[]
  readonly coverage: readonly object[]
}

const counts = async (daemon: Daemon): Promise<Record<string, number>> => {
  const { groups } = (await read(daemon, `/zones/${ZONE}/edged/analytics?by=path`)) as Analytics
  return Object.fromEntries(groups.map(({ key, requests }) => [key, requests]))
}

t.test(
  'counts of several processes are added, and survive restarts',
  { skip: unbuilt, timeout: 300_000 },
  async (t) => {
    const { url } = await startOrigin(t, (_, response) => {
      response.setHeader('content-type', 'text/html')
      response.end('<title>Page</title><p>Words')
    })
    const folder = testFolder(t)
    const config = configuration(url, { processes: 2 })
    const first = await startDaemon(t, config, folder)
    await Promise.all(Array.from({ length: REQUESTS }, async (_, i) => await send(first, i % 4 === 0 ? '/a' : '/b')))
    await send(first, '/a', { 'user-agent': 'GPTBot/1.2', accept: 'text/markdown' })
    const expected = { '/a': REQUESTS / 4 + 1, '/b': (REQUESTS * 3) / 4 }
    t.same(await counts(first), expected)
    first.signal('SIGTERM')
    t.equal(await first.ended, 0)

    const second = await startDaemon(t, config, folder)
    t.same(await counts(second), expected, 'after a restart')
    await send(second, '/b')
    t.same(await counts(second), { ...expected, '/b': expected['/b'] + 1 })
    const ofAccount = (await read(second, `/accounts/${ACCOUNT}/edged/analytics`)) as Analytics
    t.equal(ofAccount.totals.requests, REQUESTS + 2)
    t.equal(
      ofAccount.points.reduce((sum, { requests }) => sum + requests, 0),
      REQUESTS + 2,
    )
    t.match(await read(second, `/zones/${ZONE}/edged/agents`), [{ name: 'GPTBot', requests: 1, markdown_requests: 1 }])
    // Killed: what the processes had not sent is lost, what was written before is not.
    second.signal('SIGKILL')
    await second.ended
    const third = await startDaemon(t, config, folder)
    const left = await counts(third)
    t.equal(left['/a'], expected['/a'])
    t.ok(left['/b']! >= expected['/b'])
  },
)
