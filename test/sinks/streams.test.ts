import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'
import { Redis } from 'ioredis'
import { t, type Test } from 'tap'
import { systemClock } from '../../src/core/clock.js'
import type { Egress } from '../../src/egress/egress.js'
import { kafka } from '../../sinks/kafka.js'
import { redis, rediss } from '../../sinks/redis.js'
import type { SinkType } from '../../sinks/contract/sink-type.js'
import { lines } from '../../sinks/streams/lines.js'
import { syslog } from '../../sinks/syslog.js'
import { testFolder } from '../helpers/folder.js'
import { kafkaCluster, keysOf, noKafka } from '../helpers/kafka-cluster.js'
import { NO_REDIS, redisServer } from '../helpers/redis.js'
import { saslBroker, scramServer } from '../helpers/sasl-broker.js'
import { batchOf, depsFor, never, sinkDeps } from '../helpers/sink-deps.js'
import { SERVER_TLS } from '../helpers/tls.js'

const NAME = '20261121T235959Z_20261122T000029Z_5f0c2e9a'
const NOT_PUBLIC = {
  failure: 'refused',
  message: 'the destination address is not allowed; the operator can allow it with egress.allow_cidrs',
} as const

t.test('lines of a body, however it is cut', async (t) => {
  const text = 'one\n\ntwo\r\nünï\nlast'
  const { body } = batchOf(text, 'identity')
  const bytes = Buffer.from(text)
  for (const size of [1, 2, 3, 7, 100]) {
    const cut = {
      ...body,
      async *read() {
        // The same memory each time, as a reader of files has it.
        const piece = Buffer.alloc(size)
        for (let at = 0; at < bytes.length; at += size) yield piece.subarray(0, bytes.copy(piece, 0, at, at + size))
      },
    }
    const found: string[] = []
    for await (const group of lines(cut)) found.push(...group.map((line) => Buffer.from(line).toString()))
    t.strictSame(found, ['one', 'two\r', 'ünï', 'last'], `in pieces of ${size}`)
  }
})

// Records without line ends made one line of a batch, which has up to a gigabyte.
t.test('a line that does not end is refused before it fills the memory', async (t) => {
  const { body } = batchOf('', 'identity')
  const piece = Buffer.alloc(2 ** 20, 'x')
  let pieces = 0
  const endless = {
    ...body,
    async *read() {
      for (; pieces < 1000; pieces++) yield piece
    },
  }
  const all = async () => {
    for await (const _ of lines(endless));
  }
  await t.rejects(all(), { failure: 'too_large', message: 'a line has more than 16777216 bytes' })
  t.equal(pieces, 16)
  const port = await listener(t, createServer(), [])
  const sink = syslog.open(new URL(`syslog://127.0.0.1:${port}?tls=false`), await depsFor([port]))
  await t.rejects(sink.write({ ...batchOf('', 'identity'), body: endless }, never), {
    failure: 'too_large',
    message: /16777216/,
  })
})

/** A server that keeps what each connection said until it ended. */
async function listener(t: Test, server: Server, said: string[]): Promise<number> {
  server.on('connection', (socket: Socket) => {
    const pieces: Buffer[] = []
    socket.on('data', (piece: Buffer) => pieces.push(piece))
    socket.on('end', () => said.push(Buffer.concat(pieces).toString()))
    socket.on('error', () => {})
  })
  return await listening(t, server)
}

async function listening(t: Test, server: Server): Promise<number> {
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => open.add(socket.on('error', () => {})))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

t.test('syslog', async (t) => {
  await t.test('gets each line as a message of RFC 5424, counted', async (t) => {
    const said: string[] = []
    const port = await listener(t, createServer(), said)
    const sink = syslog.open(new URL(`syslog://127.0.0.1:${port}?tls=false&hostname=edge-1`), await depsFor([port]))
    await sink.write(batchOf('{"a":"ü"}\n{"b":2}\n', 'identity'), never)
    const head = `<134>1 2026-11-21T23:59:59.250Z edge-1 edged ${NAME} - [meta sequenceId=`
    const frames = [`${head}"1"] {"a":"ü"}`, `${head}"2"] {"b":2}`]
    t.strictSame(said, [frames.map((text) => `${Buffer.byteLength(text)} ${text}`).join('')])
    await sink.check(never)
    t.match(
      said[1],
      /^\d+ <134>1 2026-11-21T12:00:00.000Z edge-1 edged test - \[meta sequenceId="1"\] \{"content":"tests"\}$/,
    )
  })

  await t.test('over TLS, with a certificate that is checked', async (t) => {
    const said: string[] = []
    const server = createTlsServer(SERVER_TLS)
    server.on('secureConnection', (socket) => {
      socket.on('data', (piece: Buffer) => said.push(String(piece)))
      socket.on('error', () => {})
    })
    const port = await listening(t, server)
    const deps = await depsFor([port])
    await syslog
      .open(new URL(`syslog://127.0.0.1:${port}?facility=1&severity=0`), deps)
      .write(batchOf('x\n', 'identity'), never)
    t.match(said.join(''), /^\d+ <8>1 .* x$/)

    const { testEgress } = await import('../helpers/egress.js')
    const strange = { ...deps, egress: await testEgress({ allow_cidrs: [`127.0.0.1/32:${port}`] }) }
    await t.rejects(syslog.open(new URL(`syslog://127.0.0.1:${port}`), strange).check(never), {
      failure: 'transient',
      message: /^127\.0\.0\.1:\d+ could not be reached: (SELF_SIGNED|UNABLE)/,
    })
    await syslog.open(new URL(`syslog://127.0.0.1:${port}?insecure-skip-verify=true`), strange).check(never)
  })

  await t.test('is delivered only once the server has read it all', async (t) => {
    const reset = createServer((socket) => socket.once('data', () => socket.resetAndDestroy()))
    const port = await listening(t, reset)
    const sink = syslog.open(new URL(`syslog://127.0.0.1:${port}?tls=false`), await depsFor([port]))
    const large = batchOf('x'.repeat(1000).concat('\n').repeat(5000), 'identity')
    await t.rejects(sink.write(large, never), { name: 'SinkError', failure: 'transient' })

    const silent = await listening(
      t,
      createServer({ allowHalfOpen: true }, (socket) => socket.resume()),
    )
    const waiting = syslog.open(new URL(`syslog://127.0.0.1:${silent}?tls=false`), await depsFor([silent]))
    const abort = new AbortController()
    const written = waiting.write(batchOf('x\n', 'identity'), abort.signal)
    setTimeout(() => abort.abort(new Error('given up')), 50)
    await t.rejects(written, { message: 'given up' })
  })

  // A server with as many connections as it takes accepts another one and closes it: such batches counted as delivered.
  await t.test('is not delivered if the server closes before it has received the end', async (t) => {
    const port = await listening(
      t,
      createServer((socket) => void socket.pause().end()),
    )
    const { egress } = await depsFor([port])
    let ended: Promise<unknown> = Promise.resolve()
    const watched: Pick<Egress, 'connect'> = {
      async connect(...args) {
        const socket = await egress.connect(...args)
        ended = once(socket, 'end')
        return socket
      },
    }
    const clock = { ...systemClock, sleep: async () => void (await ended) }
    const sink = syslog.open(
      new URL(`syslog://127.0.0.1:${port}?tls=false`),
      await depsFor([port], { egress: watched as Egress, clock }),
    )
    for (const size of [1, 1_000_000]) {
      await t.rejects(sink.write(batchOf('x'.repeat(size).concat('\n'), 'identity'), never), {
        failure: 'transient',
        message: `127.0.0.1:${port} closed the connection before the end of the batch`,
      })
    }
  })

  await t.test('is guarded', async (t) => {
    await t.rejects(syslog.open(new URL('syslog://127.0.0.1:1?tls=false'), sinkDeps()).check(never), NOT_PUBLIC)
  })

  const rsyslogd = spawnSync('rsyslogd', ['-v']).status === 0
  await t.test('a real rsyslogd', { skip: rsyslogd ? false : 'rsyslogd is not installed' }, async (t) => {
    const folder = testFolder(t, { 'rsyslog.conf': '' })
    const { writeFile, readFile } = await import('node:fs/promises')
    const probe = createServer()
    probe.listen(0, '127.0.0.1')
    await once(probe, 'listening')
    const { port } = probe.address() as AddressInfo
    probe.close()
    const conf = [
      'module(load="imtcp")',
      `input(type="imtcp" port="${port}" address="127.0.0.1")`,
      'template(name="t" type="string" string="%procid% %app-name% %syslogpriority-text% %structured-data% %msg%\\n")',
      `*.* action(type="omfile" file="${folder}/out" template="t")`,
    ]
    await writeFile(join(folder, 'rsyslog.conf'), conf.join('\n'))
    const child = spawn('rsyslogd', ['-n', '-f', `${folder}/rsyslog.conf`, '-i', `${folder}/pid`], { stdio: 'ignore' })
    t.teardown(async () => {
      child.kill('SIGKILL')
      await once(child, 'exit')
    })
    const sink = syslog.open(new URL(`syslog://127.0.0.1:${port}?tls=false`), await depsFor([port]))
    const patiently = async (work: () => Promise<void>): Promise<void> => {
      for (let left = 100; ; left -= 1) {
        try {
          return await work()
        } catch (error) {
          if (left === 0) throw error
          await new Promise((resolve) => void setTimeout(resolve, 50))
        }
      }
    }
    await patiently(async () => await sink.write(batchOf('{"a":1}\n{"b":2}\n', 'identity'), never))
    await patiently(async () => {
      const text = await readFile(join(folder, 'out'), 'utf8')
      if (!text.includes('"b"')) throw new Error(`only ${text}`)
      t.equal(text, [1, 2].map((n) => `${NAME} edged info [meta sequenceId="${n}"] {"${'-ab'[n]}":${n}}\n`).join(''))
    })
  })
})

t.test('redis streams', { skip: NO_REDIS }, async (t) => {
  const server = await redisServer(testFolder(t))
  t.teardown(() => server.kill())
  const client = new Redis(server.port, '127.0.0.1', { db: 2 })
  t.teardown(() => client.disconnect())
  const deps = await depsFor([server.port])
  const to = (rest: string) => redis.open(new URL(`redis://127.0.0.1:${server.port}${rest}`), deps)

  await t.test('get an entry per line, marked by batch and line', async (t) => {
    const sink = to('/2?stream=logs')
    await sink.write(batchOf('{"a":1}\n{"b":"ü"}\n', 'identity'), never)
    await sink.write(batchOf('{"a":1}\n{"b":"ü"}\n', 'identity'), never)
    const entries = (await client.xrange('logs', '-', '+')).map(([, fields]) => fields)
    const first = [
      ['batch', NAME, 'record', '0', 'data', '{"a":1}'],
      ['batch', NAME, 'record', '1', 'data', '{"b":"ü"}'],
    ]
    t.strictSame(entries, [...first, ...first])
    await sink.close()
  })

  await t.test('many lines, cut to a length', async (t) => {
    const sink = to('/2?stream=short&maxlen=100')
    await sink.write(batchOf('{"some":"record","with":"text"}\n'.repeat(5000), 'identity'), never)
    const length = await client.xlen('short')
    t.ok(length >= 100 && length < 1000, `${length} are left`)
  })

  await t.test('what the server refuses', async (t) => {
    await client.set('text', 'x')
    const place = `127.0.0.1:${server.port}`
    await t.rejects(to('/2?stream=text').check(never), {
      failure: 'refused',
      message: `${place} responded with WRONGTYPE`,
    })
    await client.config('SET', 'requirepass', 'right')
    await t.rejects(to('/2?stream=logs').check(never), {
      failure: 'refused',
      message: `${place} responded with NOAUTH`,
    })
    await t.rejects(to('/2?stream=logs&password=wrong').check(never), {
      failure: 'refused',
      message: `${place} responded with WRONGPASS`,
    })
    await to('/2?stream=logs&password=right').check(never)
    await client.config('SET', 'requirepass', '')
    await client.config('SET', 'maxmemory', '1')
    await t.rejects(to('/2?stream=logs').check(never), { failure: 'transient', message: `${place} responded with OOM` })
    await client.config('SET', 'maxmemory', '0')
  })

  await t.test('an unreachable server, a server that is not public, and an attempt that times out', async (t) => {
    await t.rejects(to('/2?stream=logs').check(AbortSignal.abort(new Error('given up'))), { message: 'given up' })
    const closed = redis.open(new URL(`redis://127.0.0.1:${server.port}?stream=logs`), sinkDeps())
    await t.rejects(closed.check(never), NOT_PUBLIC)
    client.disconnect()
    await server.kill()
    await t.rejects(to('/2?stream=logs').check(never), { failure: 'transient', message: /ECONNREFUSED$/ })
  })
})

t.test('a Redis that stops answering is left with the signal', async (t) => {
  const port = await listening(
    t,
    createServer((socket) => socket.resume()),
  )
  const sink = redis.open(new URL(`redis://127.0.0.1:${port}?stream=logs`), await depsFor([port]))
  const abort = new AbortController()
  const written = sink.check(abort.signal)
  setTimeout(() => abort.abort(new Error('given up')), 50)
  await t.rejects(written, { message: 'given up' })
})

t.test('a Redis whose response has no end is disconnected', async (t) => {
  const port = await listening(
    t,
    createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => {
        socket.write('$2000000000\r\n')
        const more = () => socket.write(Buffer.alloc(256 * 1024), (error) => error ?? more())
        more()
      })
    }),
  )
  const sink = redis.open(new URL(`redis://127.0.0.1:${port}?stream=logs`), await depsFor([port]))
  await t.rejects(sink.check(never), { name: 'SinkError', failure: 'transient' })
})

t.test('kafka', async (t) => {
  await t.test('a cluster gets each line as a message', { skip: noKafka(t) }, async (t) => {
    const cluster = await kafkaCluster(t)
    const [first, second] = cluster.brokers
    const ports = cluster.brokers.map((broker) => Number(broker.split(':')[1]))
    const sink = kafka.open(new URL(`kafka://${first}/logs?tls=false&brokers=${second}`), await depsFor(ports))
    const text = Array.from({ length: 3000 }, (_, index) => `{"n":${index},"text":"${'x'.repeat(700)}"}\n`).join('')
    await sink.write(batchOf(text, 'identity'), never)
    const messages = await cluster.messages()
    t.ok(messages.every(({ batch }) => batch === NAME))
    const inOrder = messages.toSorted((a, b) => a.record - b.record).map(({ value }) => `${value}\n`)
    t.equal(inOrder.join(''), text)

    const unguarded = kafka.open(new URL(`kafka://${first}/logs?tls=false`), await depsFor([ports[0]!]))
    await t.rejects(unguarded.write(batchOf(text, 'identity'), never), NOT_PUBLIC, 'the other broker is guarded, too')
    await t.rejects(kafka.open(new URL(`kafka://${first}/logs?tls=false`), sinkDeps()).check(never), NOT_PUBLIC)
  })

  await t.test('messages with the same key are in one partition', { skip: noKafka(t) }, async (t) => {
    const cluster = await kafkaCluster(t)
    const ports = cluster.brokers.map((broker) => Number(broker.split(':')[1]))
    const deps = await depsFor(ports)
    const write = async (query: string, lines: readonly string[]) => {
      const sink = kafka.open(new URL(`kafka://${cluster.brokers[0]!}/logs?tls=false${query}`), deps)
      await sink.write(batchOf(lines.map((line) => `${line}\n`).join(''), 'identity'), never)
    }
    const users = Array.from({ length: 40 }, (_, n) => `{"user":{"id":${n % 4}},"n":${n}}`)
    await write('&key=/user/id', users)
    await write('&key=user', ['{"user":"a b"}', '{"user":null}', '{"other":1}', '"user"', 'text'])
    await write('', ['{"RayID":"r1","ClientIP":"192.0.2.1"}', '{"ClientIP":"192.0.2.1"}', '{"a":1}', 'a,b'])
    const found = await keysOf(t, cluster.brokers, users.length + 9)
    const partitions = new Map<string, Set<number>>()
    for (const { key, partition } of found) {
      const known = partitions.get(String(key)) ?? new Set()
      partitions.set(String(key), known.add(partition))
    }
    const named = found.map(({ key }) => key).filter((key) => key !== null)
    t.strictSame([...new Set(named)].sort(), ['0', '1', '192.0.2.1', '2', '3', 'a b', 'r1'])
    t.equal(found.length - named.length, 6, 'lines without the value have no key')
    for (const key of named) t.equal(partitions.get(key)?.size, 1, key)
    t.ok(new Set(found.map(({ partition }) => partition)).size > 1)
  })

  await t.test('credentials are proven to a broker, over TLS as well', async (t) => {
    const proofs: boolean[] = []
    const scram = saslBroker('SCRAM-SHA-256', () => scramServer('pass+word', 4096, (good) => proofs.push(good)))
    const port = await listening(t, createServer(scram))
    const attempt = async (password: string) => {
      const query = `tls=false&sasl=scram-sha-256&username=edge&password=${encodeURIComponent(password)}`
      await kafka.open(new URL(`kafka://127.0.0.1:${port}/logs?${query}`), await depsFor([port])).check(never)
    }
    await t.rejects(
      attempt('pass+word'),
      { name: 'SinkError', failure: 'transient' },
      'the connection ends behind the proof',
    )
    t.same(proofs.splice(0), [true])
    await t.rejects(attempt('wrong'), { failure: 'refused', message: /SASL_AUTHENTICATION_FAILED|credentials/ })
    t.same(proofs, [false])

    const said: string[] = []
    const plain = saslBroker('PLAIN', () => (text) => (said.push(text), undefined))
    const secure = await listening(t, createTlsServer(SERVER_TLS, plain))
    const query = 'insecure-skip-verify=true&sasl=plain&username=edge&password=secret'
    const sink = kafka.open(new URL(`kafka://127.0.0.1:${secure}/logs?${query}`), await depsFor([secure]))
    await t.rejects(sink.check(never), { name: 'SinkError', failure: 'refused' })
    t.same(said, ['\0edge\0secret'])
  })

  await t.test('a broker that asks for endless hashing of the password is refused', async (t) => {
    for (const mechanism of ['scram-sha-256', 'scram-sha-512']) {
      let proofs = 0
      const evil = saslBroker(mechanism.toUpperCase(), () => scramServer('secret', 2_000_000_000, () => (proofs += 1)))
      const port = await listening(t, createServer(evil))
      const query = `tls=false&sasl=${mechanism}&username=edge&password=secret`
      const sink = kafka.open(new URL(`kafka://127.0.0.1:${port}/logs?${query}`), await depsFor([port]))
      await t.rejects(sink.check(never), { failure: 'refused', message: /too many iterations/ })
      t.equal(proofs, 0)
    }
  })

  await t.test('a broker that is unreachable, silent, or sends without end', async (t) => {
    const gone = kafka.open(new URL('kafka://127.0.0.1:1/logs?tls=false'), await depsFor([1]))
    await t.rejects(gone.check(never), { name: 'SinkError', failure: 'transient' })

    const silent = await listening(
      t,
      createServer((socket) => socket.resume()),
    )
    const abort = new AbortController()
    const written = kafka
      .open(new URL(`kafka://127.0.0.1:${silent}/logs?tls=false`), await depsFor([silent]))
      .check(abort.signal)
    setTimeout(() => abort.abort(new Error('given up')), 50)
    await t.rejects(written, { message: 'given up' })

    const endless = await listening(
      t,
      createServer((socket) => {
        socket.once('data', () => {
          socket.write(Buffer.from([0x7f, 0xff, 0xff, 0xff]))
          const more = () => socket.write(Buffer.alloc(256 * 1024), (error) => error ?? more())
          more()
        })
      }),
    )
    const flooded = kafka.open(new URL(`kafka://127.0.0.1:${endless}/logs?tls=false`), await depsFor([endless]))
    await t.rejects(flooded.check(never), { name: 'SinkError', failure: 'transient' })
  })
})

t.test('destinations that are refused', async (t) => {
  const types = new Map<string, SinkType>([syslog, redis, rediss, kafka].map((type) => [type.scheme, type]))
  const REFUSED: [destination: string, message: RegExp][] = [
    ['syslog://', /no host/],
    ['syslog://host:0', /port 0/],
    ['syslog://host/path', /path/],
    ['syslog://a:b@host', /user name/],
    ['syslog://host?tls=false', /must use TLS/],
    ['syslog://host?insecure-skip-verify=true', /must not have insecure-skip-verify/],
    ['syslog://host?facility=24', /from 0 to 23/],
    ['syslog://host?severity=-1', /from 0 to 7/],
    ['syslog://host?app-name=a%20b', /app-name/],
    ['syslog://host?hostname=a%0ab', /hostname/],
    ['redis://host?stream=a', /must use TLS/],
    ['rediss://host', /parameter stream/],
    ['rediss://host/x?stream=a', /database/],
    ['rediss://host?stream=a&maxlen=0', /maxlen/],
    ['rediss://host?stream=a&username=b', /password/],
    ['rediss://:secret@host?stream=a', /use the parameters/],
    ['kafka://host', /invalid topic/],
    ['kafka://host/..', /invalid topic/],
    ['kafka://host/a/b', /invalid topic/],
    ['kafka://host/logs?tls=false', /must use TLS/],
    ['kafka://host/logs?sasl=gssapi', /parameter sasl must be one of/],
    ['kafka://host/logs?sasl=plain&username=a', /needs username and password/],
    ['kafka://host/logs?username=a', /need the parameter sasl/],
    ['kafka://host/logs?brokers=a/b', /brokers/],
    ['kafka://host/logs?compression=zstd', /compression/],
  ]
  const deps = sinkDeps({ allowPlainHttp: false })
  for (const [destination, message] of REFUSED) {
    const url = new URL(destination)
    const check = () => types.get(url.protocol.slice(0, -1))?.check(url, deps)
    t.throws(check, { name: 'InvalidInput', message, issues: [{ pointer: '' }] }, destination)
  }
})
