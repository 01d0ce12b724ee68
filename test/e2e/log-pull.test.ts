import Cloudflare from 'cloudflare'
import t from 'tap'
import { request } from 'undici'
import { testFolder } from '../helpers/folder.js'
import { startOrigin } from '../helpers/proxy.js'
import { until } from '../helpers/web.js'
import { configuration, startDaemon, TOKEN, unbuilt, ZONE, type Daemon } from './daemon.js'

const options = { skip: unbuilt, timeout: 600_000 }

const visit = async ({ proxy }: Daemon, path: string): Promise<string> => {
  const response = await request(`${proxy}${path}`, { headers: { host: 'example.test' } })
  await response.body.dump()
  return String(response.headers['cf-ray']).slice(0, 16)
}

t.test('requests are found by their ray id while the flag is set, also after a restart', options, async (t) => {
  const { url: origin } = await startOrigin(t, (_request, response) => void response.end('hello'))
  const folder = testFolder(t)
  const first = await startDaemon(t, configuration(origin), folder)
  const clientOf = ({ control }: Daemon) => new Cloudflare({ apiToken: TOKEN, baseURL: control, maxRetries: 0 }).logs
  const zone = { zone_id: ZONE }
  const unseen = await visit(first, '/before')
  await clientOf(first).control.retention.create({ ...zone, flag: true })
  const ray = await visit(first, '/kept')
  const lookUp = async (daemon: Daemon, id: string) =>
    String(await clientOf(daemon).RayID.get(id, { ...zone, fields: 'ClientRequestURI' }))
  await until(async () => (await lookUp(first, ray)) !== '')
  t.equal(await lookUp(first, ray), '{"ClientRequestURI":"/kept"}\n')
  t.equal(await lookUp(first, unseen), '')
  first.signal('SIGTERM')
  await first.ended

  const second = await startDaemon(t, configuration(origin), folder)
  t.equal(await lookUp(second, ray), '{"ClientRequestURI":"/kept"}\n')
  const later = await visit(second, '/later')
  await until(async () => (await lookUp(second, later)) !== '')
  await clientOf(second).control.retention.create({ ...zone, flag: false })
  await t.rejects(lookUp(second, ray), { message: /^400 / })
})
