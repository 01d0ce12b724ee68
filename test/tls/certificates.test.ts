import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { copyFileSync, renameSync, watch, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import t from 'tap'
import { systemClock } from '../../src/core/clock.js'
import { silentLog } from '../../src/core/log.js'
import { WatchedCertificates } from '../../src/tls/certificate-files.js'
import { certificateIssue, CertificateTable, loadCertificate } from '../../src/tls/certificates.js'
import { MAX_HELLO_BYTES, parseClientHello } from '../../src/tls/client-hello.js'
import { dailyTicketKeys } from '../../src/tls/ticket-keys.js'
import { testFolder } from '../helpers/folder.js'
import { tlsFile } from '../helpers/tls.js'

const FIRST = { cert_file: tlsFile('cert.pem'), key_file: tlsFile('key.pem') }
const SECOND = { cert_file: tlsFile('second-cert.pem'), key_file: tlsFile('second-key.pem') }

/** The first bytes that a TLS client sends. */
async function clientHello(options: { servername?: string; ALPNProtocols?: string[] }): Promise<Buffer> {
  return await new Promise((resolve, reject) => {
    const server = createServer((socket: Socket) => {
      socket.once('data', (bytes) => {
        resolve(bytes)
        socket.destroy()
        server.close()
      })
    })
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      const client = connectTls({ socket: connect(port, '127.0.0.1'), ...options })
      client.on('error', () => undefined)
    })
    server.on('error', reject)
  })
}

t.test('a ClientHello gives name, protocols and length, however it is cut', async (t) => {
  const bytes = await clientHello({ servername: 'Example.TEST', ALPNProtocols: ['h2', 'http/1.1'] })
  const want = { serverName: 'example.test', protocols: ['h2', 'http/1.1'], length: bytes.length - 9 }
  t.match(parseClientHello(bytes), want)
  for (let size = 0; size < bytes.length; size++)
    if (parseClientHello(bytes.subarray(0, size)) !== 'incomplete') t.fail(`cut at ${size}`)
  t.match(parseClientHello(Buffer.concat([bytes, Buffer.from('more')])), want, 'bytes after it are ignored')

  const body = bytes.subarray(5)
  const record = (part: Buffer) => Buffer.concat([Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]), part])
  for (const at of [1, 3, 4, 50])
    t.match(
      parseClientHello(Buffer.concat([record(body.subarray(0, at)), record(body.subarray(at))])),
      want,
      `records ${at}`,
    )
  t.match(parseClientHello(await clientHello({})), { serverName: undefined, protocols: [] })
})

t.test('an IP address is not a server name', async (t) => {
  // Node.js sends no addresses.
  const hello = async (name: string) => {
    const bytes = await clientHello({ servername: 'x'.repeat(name.length) })
    return parseClientHello(Buffer.from(bytes.toString('latin1').replace('x'.repeat(name.length), name), 'latin1'))
  }
  for (const name of ['127.0.0.1', '203.0.113.255', '::1', '2001:db8::1', '[2001:db8::1]'])
    t.match(await hello(name), { serverName: undefined }, name)
  for (const name of ['127.0.0.1.test', '1.2.3', 'abc.de', '1.2.3.4.5'])
    t.match(await hello(name), { serverName: name }, name)
})

t.test('a ClientHello has a fingerprint: its random value, cipher suites and extension types', (t) => {
  const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')
  const random = Buffer.alloc(32, 7)
  // Two suites; the extensions 0x000a and 0xff01, both empty.
  const rest = hex('00 0004 13011302 0100 0008 000a0000 ff010000')
  const message = Buffer.concat([hex('0303'), random, rest])
  const hello = parseClientHello(
    Buffer.concat([hex('160301'), Buffer.from([0, message.length + 4, 1, 0, 0, message.length]), message]),
  )
  if (typeof hello === 'string') throw new Error(hello)
  const sha1 = (text: string) => createHash('sha1').update(hex(text)).digest('base64')
  const { random: sent, ciphersSha1, extensionsSha1, extensionsSha1Le } = hello.fingerprint
  t.same(
    [sent, ciphersSha1, extensionsSha1, extensionsSha1Le],
    [random.toString('base64'), sha1('13011302'), sha1('000aff01'), sha1('0a0001ff')],
  )
  t.end()
})

t.test('bytes that cannot start a TLS connection are invalid at once', async (t) => {
  const bytes = await clientHello({ servername: 'example.test' })
  const changed = (at: number, value: number) => {
    const copy = Buffer.from(bytes)
    copy[at] = value
    return copy
  }
  const large = Buffer.alloc(9)
  large.set([22, 3, 1, 0x40, 0, 1, 0, (MAX_HELLO_BYTES + 1) >> 8, (MAX_HELLO_BYTES + 1) & 255])
  for (const [what, hello] of [
    ['a request without TLS', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
    ['another record type', changed(0, 23)],
    ['another version', changed(1, 2)],
    ['another message', changed(5, 2)],
    ['a record without content', Buffer.from([22, 3, 1, 0, 0])],
    ['a message above the limit', large],
    ['a list that is longer than its message', changed(9 + 2 + 32, 255)],
  ] as const)
    t.equal(parseClientHello(hello), 'invalid', what)
})

t.test(
  'the certificate is chosen by name: exact, wildcard of one label; the first is for clients without a name',
  async (t) => {
    const [first, second] = [loadCertificate(FIRST), loadCertificate(SECOND)]
    const table = new CertificateTable([first, second])
    for (const [name, want] of [
      ['localhost', first],
      ['a.receiver.test', first],
      ['second.test', second],
      ['www.second.test', second],
      ['a.b.second.test', undefined],
      ['unknown.test', undefined],
    ] as const)
      t.equal(table.named(name), want, name)
    t.equal(table.first, first)
    t.equal(table.covers('www.second.test'), true)
    t.equal(table.covers('a.b.second.test'), false)
    t.equal(table.covers('*.second.test'), true, 'as a pattern')
    t.equal(table.covers('*.localhost'), false)
    t.equal(new CertificateTable([]).first, undefined)
    const newer = Object.assign(loadCertificate(SECOND), { notBefore: second.notBefore + 1 })
    for (const order of [
      [second, newer],
      [newer, second],
    ])
      t.equal(new CertificateTable(order).named('second.test'), newer, 'the newer one of two with a name')
  },
)

t.test('a pair that cannot be used is reported with its file', async (t) => {
  const folder = testFolder(t)
  const text = join(folder, 'text.pem')
  writeFileSync(text, 'no certificate')
  for (const [files, message] of [
    [{ ...FIRST, cert_file: join(folder, 'none.pem') }, /^cannot read .*none\.pem: no such file$/],
    [{ ...FIRST, cert_file: text }, /text\.pem is not a PEM certificate$/],
    [{ ...FIRST, key_file: text }, /text\.pem is not an unencrypted PEM private key$/],
    [{ ...FIRST, key_file: SECOND.key_file }, /second-key\.pem is not the private key of the first certificate in/],
  ] as const)
    t.match(certificateIssue(files), message)
  t.equal(certificateIssue(FIRST), undefined)
})

t.test('a changed pair is used without a restart, a broken one is not', async (t) => {
  const folder = testFolder(t)
  const files = { cert_file: join(folder, 'cert.pem'), key_file: join(folder, 'key.pem') }
  copyFileSync(FIRST.cert_file, files.cert_file)
  copyFileSync(FIRST.key_file, files.key_file)
  const events: object[] = []
  const log = Object.assign(Object.create(silentLog) as typeof silentLog, {
    info: (entry: object) => events.push(entry),
    error: (entry: object) => events.push(entry),
  })
  const watched = await WatchedCertificates.open([files], { clock: systemClock, log })
  t.teardown(() => watched.close())
  const happens = async (event: string) => {
    while (!events.some((each) => (each as { event: string }).event === event))
      await new Promise((resolve) => setTimeout(resolve, 20))
  }
  t.equal(watched.table.covers('second.test'), false)

  writeFileSync(join(folder, 'new'), 'broken')
  renameSync(join(folder, 'new'), files.cert_file)
  await happens('certificate_rejected')
  t.equal(watched.table.covers('localhost'), true, 'the last valid pair stays')

  copyFileSync(SECOND.cert_file, files.cert_file)
  copyFileSync(SECOND.key_file, files.key_file)
  while (!watched.table.covers('second.test')) await new Promise((resolve) => setTimeout(resolve, 20))
  t.equal(watched.table.covers('localhost'), false)
})

t.test('ticket keys are the same all day, and others the next day', async (t) => {
  let now = Date.UTC(2026, 10, 22, 1)
  const clock = { ...systemClock, now: () => now }
  const derive = (purpose: string) => Buffer.alloc(32, purpose)
  const keys = dailyTicketKeys(derive, clock)
  const first = keys()
  t.equal(first.length, 48)
  now += 3_600_000
  t.equal(keys(), first)
  t.same(dailyTicketKeys(derive, clock)(), first, 'on another machine with the same secret')
  now += 86_400_000
  t.notSame(keys(), first)
})

t.test('files are compared at most twice per second while other files of their folder change', async (t) => {
  const folder = testFolder(t)
  const files = { cert_file: join(folder, 'cert.pem'), key_file: join(folder, 'key.pem') }
  copyFileSync(FIRST.cert_file, files.cert_file)
  copyFileSync(FIRST.key_file, files.key_file)
  const pauses: { ms: number; end: () => void }[] = []
  const sleep = async (ms: number, signal?: AbortSignal) =>
    await new Promise<void>((end) => {
      pauses.push({ ms, end })
      signal?.addEventListener('abort', () => end())
    })
  const watched = await WatchedCertificates.open([files], { clock: { ...systemClock, sleep }, log: silentLog })
  const others = watch(folder)
  t.teardown(() => {
    watched.close()
    others.close()
  })
  const written = async (name: string) => {
    const noticed = once(others, 'change')
    writeFileSync(join(folder, name), '')
    await noticed
  }
  /** Waits for the pause with this number. */
  const paused = async (number: number) => {
    while (pauses.length < number) await new Promise(setImmediate)
    return pauses[number - 1]!
  }

  t.equal((await paused(1)).ms, 10_000, 'without a change')
  await written('access.log')
  const pause = await paused(2)
  t.equal(pause.ms, 500, 'after the first comparison')
  for (let i = 0; i < 20; i++) await written(`access-${i}.log`)
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
  t.equal(pauses.length, 2, 'further changes wait')

  copyFileSync(SECOND.cert_file, files.cert_file)
  copyFileSync(SECOND.key_file, files.key_file)
  await written('last.log')
  pause.end()
  for (let number = 3; !watched.table.covers('second.test'); number++) (await paused(number)).end()
  t.pass('a change during the pause is not lost')
})
