import { join } from 'node:path'
import t from 'tap'
import { webhook } from '../control/webhooks/helper.js'
import { testFolder } from '../helpers/folder.js'
import { Receiver } from '../helpers/receiver.js'
import { NO_REDIS, redisServer } from '../helpers/redis.js'
import { CA_FILE } from '../helpers/tls.js'
import { until } from '../helpers/web.js'
import { httpRequest } from '../workers/http-request.js'
import { SKIP as NO_RUNTIME } from '../workers/runtime-helper.js'
import { ACCOUNT, configuration, startDaemon, TOKEN, unbuilt, ZONE, type Daemon } from './daemon.js'
import { uploadScript } from './worker-client.js'

const OLD = '01'.repeat(32)
const NEW = '02'.repeat(32)

/** Of one upload through each machine, before the rotation and while the old key still encrypts. */
const MAX_SCRIPTS = 4
const SCRIPT = 'export default { fetch(request, env) { return new Response(env.SECRET) } }'

async function call(daemon: Daemon, method: string, path: string, body?: object) {
  const response = await fetch(`${daemon.control}${path}`, {
    method,
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  const { result, errors } = (await response.json()) as { result: never; errors: unknown[] }
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(errors)}`)
  return result
}

interface Secrets {
  readonly key: string
  readonly configured_key: string
  readonly waits_for: readonly string[]
  readonly sealed: Readonly<Record<string, number>>
  readonly unreadable: number
  readonly removable_keys: readonly string[]
}

const secretsOf = async ({ admin }: Daemon): Promise<Secrets> =>
  ((await (await fetch(`${admin}/status`)).json()) as { secrets: Secrets }).secrets

t.test(
  'two machines take another secret key while each reads what the other writes',
  { skip: unbuilt || NO_REDIS || NO_RUNTIME, timeout: 300_000 },
  async (t) => {
    const to = await Receiver.start()
    t.teardown(() => to.close())
    const folder = testFolder(t, { redis: {}, one: {}, two: {} })
    const redis = await redisServer(join(folder, 'redis'))
    t.teardown(async () => await redis.kill())
    const start = async (name: 'one' | 'two', key: string, ...old: string[]): Promise<Daemon> =>
      await startDaemon(
        t,
        configuration('demo', {
          zones: [{ id: ZONE, account: ACCOUNT, name: 'example.test', hostnames: ['*.example.test'], origin: 'demo' }],
          store: redis.url,
          secrets: { key, old_keys: old },
          egress: {
            allow_cidrs: [`127.0.0.1/32:${to.port}`],
            ca_file: CA_FILE,
            resolver_overrides: { 'receiver.test': ['127.0.0.1'] },
          },
          logpush: { jobs_per_scope: 20 },
          control: { listen: '127.0.0.1:0', rate_limit: { requests: 0 } },
        }),
        join(folder, name),
      )
    let one = await start('one', OLD)
    let two = await start('two', OLD)

    const hooks: string[] = []
    const jobs: number[] = []
    const names: string[] = []
    const scripts = new Map<string, string>()
    /** Stores secrets of each type on a machine. */
    const write = async (on: Daemon, name: string): Promise<void> => {
      const headers = [{ key: 'X-Key', value: `hook ${name}` }]
      const hook = webhook({
        label: name,
        destination_url: to.url(`/${hooks.length}`),
        authentication_type: 'Static Headers',
        headers,
      })
      const { id } = (await call(on, 'POST', `/accounts/${ACCOUNT}/data-security/posture/webhooks`, hook)) as {
        id: string
      }
      hooks.push(id)
      const job = {
        name: `job-${jobs.length}`,
        dataset: 'http_requests',
        destination_conf: `${to.url('/logs')}?header_Authorization=${encodeURIComponent(`job ${name}`)}`,
        enabled: false,
      }
      jobs.push(((await call(on, 'POST', `/zones/${ZONE}/logpush/jobs`, job)) as { id: number }).id)
      names.push(name)
      if (scripts.size === MAX_SCRIPTS) return
      const script = `script-${scripts.size}`
      const bindings = [{ name: 'SECRET', type: 'secret_text', text: `script ${name}` }]
      const { status } = await uploadScript(
        on,
        script,
        { compatibility_date: '2026-01-01', bindings },
        { 'a.js': SCRIPT },
      )
      if (status !== 200) throw new Error(`the upload was answered with ${status}`)
      const domain = { hostname: `${script}.example.test`, service: script, zone_id: ZONE, environment: 'production' }
      await call(on, 'PUT', `/accounts/${ACCOUNT}/workers/domains`, domain)
      scripts.set(script, name)
    }
    /** Uses every secret on a machine. */
    const read = async (on: Daemon): Promise<void> => {
      for (const [n, name] of names.entries()) {
        to.received.length = 0
        const path = `/accounts/${ACCOUNT}/data-security/posture/webhooks/${hooks[n]}/evaluate`
        t.match(await call(on, 'POST', path), { success: true })
        t.equal(to.received[0]?.headers['x-key'], `hook ${name}`)
        const { destination_conf: destination } = (await call(on, 'GET', `/zones/${ZONE}/logpush/jobs/${jobs[n]}`)) as {
          destination_conf: string
        }
        t.match(destination, `header_Authorization=${encodeURIComponent(`job ${name}`)}`)
      }
      for (const [script, name] of scripts) {
        const host = `${script}.example.test`
        await until(async () => (await httpRequest(on.proxy, host, '/')).text === `script ${name}`)
      }
    }
    const both = async (step: string): Promise<void> => {
      await write(one, `${step} on one`)
      await write(two, `${step} on two`)
      await read(one)
      await read(two)
      t.pass(step)
    }
    const restart = async (daemon: Daemon, again: () => Promise<Daemon>, how: NodeJS.Signals = 'SIGTERM') => {
      daemon.signal(how)
      await daemon.ended
      return await again()
    }

    await both('before')
    const { key: old } = await secretsOf(one)
    one = await restart(one, async () => await start('one', NEW, OLD))
    await both('one has the new key')
    const waiting = await secretsOf(one)
    t.equal(waiting.key, old, 'the old key encrypts')
    t.equal(waiting.waits_for.length, 1)
    t.same(waiting.removable_keys, [])

    two = await restart(two, async () => await start('two', NEW, OLD), 'SIGKILL')
    await until(async () => (await secretsOf(two)).key !== old)
    // The machine that encrypts again may be this one.
    one = await restart(one, async () => await start('one', NEW, OLD), 'SIGKILL')
    await both('the new key encrypts')
    await until(async () => (await secretsOf(two)).removable_keys.includes(old))
    const done = await secretsOf(one)
    t.equal(done.sealed[old], 0)
    t.match(done, { unreadable: 0, waits_for: [] })

    one = await restart(one, async () => await start('one', NEW))
    await both('one lacks the old key')
    t.match(await secretsOf(one), { sealed: { [done.key]: hooks.length * 2 + scripts.size }, unreadable: 0 })
  },
)
