import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/core/clock.js'
import { silentLog } from '../../src/core/log.js'
import { account } from '../../src/core/scope.js'
import { kind, type Store } from '../../src/core/store.js'
import { openStore } from '../../src/store/index.js'
import { openBlobs } from '../../src/store/open-blobs.js'
import { RedisCounters } from '../../src/store/redis/counters.js'
import { redisTarget } from '../../src/store/redis/url.js'
import { testFolder } from '../helpers/folder.js'
import { clusterGroup, sentinelGroup, type RedisGroup } from '../helpers/redis-groups.js'
import { freePort } from '../helpers/free-port.js'
import { CA_FILE, tlsFile } from '../helpers/tls.js'
import { NO_REDIS, redisServer } from '../helpers/redis.js'
import { until } from '../helpers/web.js'

const THINGS = kind<{ readonly n: number }>('thing')
const A = account('a')

const VALID: [url: string, want: object][] = [
  ['redis://h', { type: 'single', hosts: [{ host: 'h', port: 6379 }], db: 0, where: 'Redis at h:6379' }],
  ['redis://u:p%40@h:1/3', { hosts: [{ host: 'h', port: 1 }], db: 3, username: 'u', password: 'p@' }],
  ['redis://:p@[::1]:1', { hosts: [{ host: '::1', port: 1 }], username: undefined, password: 'p' }],
  ['rediss://h', { tls: {} }],
  [
    'redis+sentinel://a,b:1/main/2',
    {
      type: 'sentinel',
      hosts: [
        { host: 'a', port: 26379 },
        { host: 'b', port: 1 },
      ],
      master: 'main',
      db: 2,
      tls: undefined,
    },
  ],
  ['rediss+sentinel://:p@a/main?sentinel_password=s', { master: 'main', db: 0, sentinelPassword: 's', tls: {} }],
  ['redis+cluster://:p@a,b', { type: 'cluster', where: 'the Redis cluster at a:6379,b:6379' }],
]
for (const [url, want] of VALID) t.test(`${url} is read`, async (t) => void t.match(redisTarget(url), want))

const INVALID: [url: string, reason: RegExp][] = [
  ['redis://:secret@a,b/0', /several hosts/],
  ['redis://:secret@', /not valid/],
  ['redis+sentinel://:secret@a', /name of the master/],
  ['redis+cluster://:secret@a/1', /a cluster has only 0/],
  ['redis://:secret@a/one', /database/],
  ['rediss://:secret@a?ca=x', /unknown option ca/],
  ['redis://:secret@a:b:c', /not valid/],
]
for (const [url, reason] of INVALID)
  t.test(`${url} is rejected without its password`, async (t) => {
    t.throws(() => redisTarget(url), { message: reason })
    try {
      redisTarget(url)
    } catch (error) {
      t.notMatch(String(error), /secret/)
    }
  })

const GROUPS: [name: string, start: (t: Test, folder: string) => Promise<RedisGroup>][] = [
  ['a master with sentinels', sentinelGroup],
  ['a cluster', clusterGroup],
]
for (const [name, start] of GROUPS)
  t.test(
    `with ${name}, no confirmed write is lost when the server is killed`,
    { skip: NO_REDIS, timeout: 300_000 },
    async (t) => {
      const folder = testFolder(t)
      mkdirSync(join(folder, 'servers'))
      const group = await start(t, join(folder, 'servers'))
      const open = async (): Promise<Store> => {
        const store = await openStore(group.url, { folder: '', log: silentLog })
        t.teardown(() => store.close())
        return store
      }
      const [writer, reader] = await Promise.all([open(), open()])
      const blobs = await openBlobs(group.url, { folder: '', clock: systemClock, log: silentLog })
      t.teardown(() => blobs.close())
      const blob = await blobs.put(Buffer.from('kept'))
      const counters = await RedisCounters.open(group.url)
      t.teardown(() => counters.close())
      const delta = { limit: 'l', window: 1, key: 'k', amount: 2, periodMs: 60_000, anew: false }
      t.same(await counters.add([delta, { ...delta, window: 2 }]), [2, 2], 'windows of a limit count together')

      const confirmed: number[] = []
      let failures = 0
      const write = async (n: number): Promise<void> => {
        try {
          await writer.batch([{ kind: THINGS, scope: A, id: String(n), value: { n } }])
          confirmed.push(n)
        } catch {
          failures++
          await wait(50)
        }
      }
      let n = 0
      while (n < 200) await write(n++)
      const killed = await group.owner()
      await killed.kill()
      const before = confirmed.length
      await until(async () => {
        await write(n++)
        return confirmed.length > before + 100
      })
      t.ok(failures > 0, `${failures} writes failed in between`)
      t.not((await group.owner()).port, killed.port)
      await until(
        async () =>
          await reader.caughtUp()!.then(
            () => true,
            () => false,
          ),
      )
      for (const store of [writer, reader])
        t.same(
          confirmed.filter((id) => !store.get(THINGS, A, String(id))),
          [],
        )
      const fresh = await open()
      t.same(
        confirmed.filter((id) => !fresh.get(THINGS, A, String(id))),
        [],
        'nor in Redis',
      )
      await until(async () => (await blobs.get(blob).catch(() => undefined))?.toString() === 'kept')
      t.equal(await blobs.collect(new Set(), -1), 1, 'blobs are found and deleted')
      await until(async () => (await counters.add([delta]).catch(() => [0]))[0]! > 0)

      // The old server comes back, and finds that another one took over.
      await killed.start()
      await until(async () => {
        await write(n)
        return confirmed.at(-1) === n
      })
    },
  )

/** Has characters that a URL escapes. */
const PASSWORD = 'p@ss/w:rd'
const tlsArguments = (port: number): string[] => {
  const files = [
    '--tls-cert-file',
    tlsFile('cert.pem'),
    '--tls-key-file',
    tlsFile('key.pem'),
    '--tls-ca-cert-file',
    CA_FILE,
  ]
  return ['--tls-port', String(port), ...files, '--tls-auth-clients', 'no', '--requirepass', PASSWORD]
}
const CREDENTIALS = `:${encodeURIComponent(PASSWORD)}@`
const CA = `ca_file=${encodeURIComponent(CA_FILE)}`

/** Servers with TLS and passwords, by the form of their URL, to which options can be added. The first sentinel or node is down. */
const SECURE: [form: string, start: (t: Test, folder: string, port: number) => Promise<string>][] = [
  [
    'rediss',
    async (t, folder, port) => {
      const server = await redisServer(folder, ...tlsArguments(port))
      t.teardown(async () => await server.kill())
      return `rediss://${CREDENTIALS}127.0.0.1:${port}/0?`
    },
  ],
  [
    'rediss+sentinel',
    async (t, folder, port) => {
      const server = await redisServer(folder, ...tlsArguments(port), '--tls-replication', 'yes')
      t.teardown(async () => await server.kill())
      const sentinelPort = await freePort()
      const options = tlsArguments(sentinelPort).map((part) =>
        part.startsWith('--') ? `\n${part.slice(2)}` : ` ${part}`,
      )
      const file = join(folder, 'sentinel.conf')
      const watched = [`monitor main 127.0.0.1 ${port} 1`, `auth-pass main ${PASSWORD}`].map(
        (line) => `\nsentinel ${line}`,
      )
      writeFileSync(file, `tls-replication yes${options.join('')}${watched.join('')}\n`)
      const sentinel = await redisServer(folder, { sentinel: file })
      t.teardown(async () => await sentinel.kill())
      const secret = `sentinel_password=${encodeURIComponent(PASSWORD)}`
      return `rediss+sentinel://${CREDENTIALS}127.0.0.1:${await freePort()},127.0.0.1:${sentinelPort}/main/0?${secret}&`
    },
  ],
  [
    'rediss+cluster',
    async (t, folder, port) => {
      const cluster = ['--cluster-enabled', 'yes', '--tls-cluster', 'yes']
      const server = await redisServer(folder, ...tlsArguments(port), ...cluster)
      t.teardown(async () => await server.kill())
      const redis = new Redis({ port: server.port, host: '127.0.0.1', password: PASSWORD })
      await redis.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
      await until(async () => (await redis.cluster('INFO')).includes('cluster_state:ok'))
      redis.disconnect()
      return `rediss+cluster://${CREDENTIALS}127.0.0.1:${await freePort()},127.0.0.1:${port}?`
    },
  ],
]
for (const [form, start] of SECURE)
  t.test(
    `with ${form}, the certificate is checked against ca_file, and passwords are sent`,
    { skip: NO_REDIS },
    async (t) => {
      const folder = testFolder(t)
      const url = await start(t, folder, await freePort())
      await t.rejects(openStore(url.slice(0, -1), { folder: '', log: silentLog }), /certificate/)
      const wrong = url.replace(CREDENTIALS, ':wrong@')
      await t.rejects(openStore(wrong + CA, { folder: '', log: silentLog }), /WRONGPASS|password/i)
      const store = await openStore(url + CA, { folder: '', log: silentLog })
      t.teardown(() => store.close())
      t.equal(await store.batch([{ kind: THINGS, scope: A, id: 'a', value: { n: 1 } }]), 1)
      const blobs = await openBlobs(url + CA, { folder: '', clock: systemClock, log: silentLog })
      t.teardown(() => blobs.close())
      t.equal((await blobs.get(await blobs.put(Buffer.from('kept'))))?.toString(), 'kept')
      const counters = await RedisCounters.open(url + CA)
      t.teardown(() => counters.close())
      t.same(await counters.add([{ limit: 'l', window: 1, key: 'k', amount: 2, periodMs: 60_000, anew: false }]), [2])
    },
  )
