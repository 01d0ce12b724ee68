import { join } from 'node:path'
import Cloudflare from 'cloudflare'
import t from 'tap'
import { finding, instance, ndjson } from '../control/webhooks/helper.js'
import { testFolder } from '../helpers/folder.js'
import { Receiver } from '../helpers/receiver.js'
import { NO_REDIS, redisServer } from '../helpers/redis.js'
import { CA_FILE } from '../helpers/tls.js'
import { until } from '../helpers/web.js'
import { ACCOUNT, configuration, startDaemon, TOKEN, unbuilt, type Daemon } from './daemon.js'

const HOOKS = 12
const INSTANCES = 40
const PER_DESTINATION = 4

t.test(
  'two daemons on one Redis share the webhooks, and one goes on for the other',
  { skip: unbuilt || NO_REDIS, timeout: 600_000 },
  async (t) => {
    const arrived = new Map<string, number>()
    const to = await Receiver.start((got, response) => {
      const id = String(got.headers['webhook-id'])
      arrived.set(id, (arrived.get(id) ?? 0) + 1)
      // Slow enough that there is something left when a daemon is killed.
      setTimeout(() => response.writeHead(204).end(), 20)
    })
    t.teardown(() => to.close())
    const folder = testFolder(t, { redis: {}, one: {}, two: {} })
    const redis = await redisServer(join(folder, 'redis'))
    t.teardown(async () => await redis.kill())
    const config = configuration('http://127.0.0.1:9', {
      store: redis.url,
      secrets: { key: 'ab'.repeat(32) },
      egress: {
        allow_cidrs: [`127.0.0.1/32:${to.port}`],
        ca_file: CA_FILE,
        resolver_overrides: { 'receiver.test': ['127.0.0.1'] },
      },
      webhooks: { attempts: { in_flight_per_destination: PER_DESTINATION } },
    })
    const one = await startDaemon(t, config, join(folder, 'one'))
    const two = await startDaemon(t, config, join(folder, 'two'))

    const client = (daemon: Daemon) => new Cloudflare({ apiToken: TOKEN, baseURL: daemon.control, maxRetries: 0 })
    const account = { account_id: ACCOUNT }
    const webhooks: string[] = []
    for (let n = 0; n < HOOKS; n++) {
      const made = await client(one).zeroTrust.casb.posture.webhooks.create({
        ...account,
        label: `w${n}`,
        destination_url: to.url(),
        authentication_type: 'None',
      })
      webhooks.push(made.id)
    }
    const instances = Array.from({ length: INSTANCES }, (_, n) => `i${n}`)
    const ingested = await fetch(`${one.control}/accounts/${ACCOUNT}/edged/findings`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/x-ndjson' },
      body: ndjson(
        finding(
          'f',
          instances.map((id) => instance(id)),
        ),
      ),
    })
    t.equal(ingested.status, 202)

    const accepted = new Set<string>()
    const send = async (daemon: Daemon, webhook_ids: string[]) => {
      const { jobs } = client(daemon).zeroTrust.casb.posture.webhooks
      const { created } = await jobs.create({ ...account, finding_instance_ids: instances, webhook_ids })
      for (const { id } of created) accepted.add(id)
    }
    // Each webhook has a daemon that comes first.
    await until(async () => (await Promise.all(webhooks.map(async (id) => await seen(two, id)))).every(Boolean))
    await Promise.all([send(one, webhooks.slice(0, HOOKS / 2)), send(two, webhooks.slice(HOOKS / 2))])
    const delivered = async (daemon: Daemon) =>
      (await daemon.metric('edged_webhook_attempts_total{outcome="delivered"}')) ?? 0
    await until(() => arrived.size === accepted.size)
    await until(async () => (await delivered(one)) + (await delivered(two)) === HOOKS * INSTANCES)
    t.ok((await delivered(one)) > 0 && (await delivered(two)) > 0, 'both have work')
    t.ok(
      [...arrived.values()].every((times) => times === 1),
      'and nothing comes twice',
    )

    await Promise.all([send(one, webhooks), send(two, webhooks)])
    await until(() => arrived.size > 1.3 * HOOKS * INSTANCES)
    one.signal('SIGKILL')
    await one.ended
    await until(() => [...accepted].every((id) => arrived.has(id)))
    await until(async () => (await two.metric('edged_webhook_deliveries_pending')) === 0)
    const twice = [...arrived.values()].reduce((sum, times) => sum + times - 1, 0)
    t.ok(twice <= HOOKS * PER_DESTINATION, `${twice} came twice, no more than were under way`)
  },
)

async function seen(daemon: Daemon, webhook: string): Promise<boolean> {
  const path = `/accounts/${ACCOUNT}/data-security/posture/webhooks/${webhook}`
  const { ok } = await fetch(`${daemon.control}${path}`, { headers: { authorization: `Bearer ${TOKEN}` } })
  return ok
}
