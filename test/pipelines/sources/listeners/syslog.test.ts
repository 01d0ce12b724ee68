import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import t from 'tap'
import { BrokenFraming, SyslogFrames } from '../../../../pipelines/sources/listeners/syslog-frames.js'
import { readSyslog, type SyslogMessage } from '../../../../pipelines/sources/listeners/syslog-message.js'
import { testFolder } from '../../../helpers/folder.js'
import { CA_FILE, tlsFile } from '../../../helpers/tls.js'
import { lines, recordOf, sourceRun } from '../source-helper.js'

const NOW = Date.parse('2026-01-02T00:00:00Z')

t.test('messages of RFC 5424 and RFC 3164 are read by their parts', async (t) => {
  const local = (text: string) => new Date(text).toISOString()
  const CASES: [text: string, parts: Partial<SyslogMessage>][] = [
    [
      "<34>1 2003-10-11T22:14:15.003Z mymachine.example.com su - ID47 - \uFEFF'su root' failed",
      {
        facility: 'auth',
        severity: 'crit',
        version: 1,
        timestamp: '2003-10-11T22:14:15.003Z',
        hostname: 'mymachine.example.com',
        appname: 'su',
        procid: null,
        msgid: 'ID47',
        structured_data: {},
        message: "'su root' failed",
      },
    ],
    [
      '<165>1 2003-08-24T05:14:15.000003-07:00 192.0.2.1 evntslog 77 - [a@1 x="1" y="q\\"\\]\\\\ \\n"][b@2] text',
      {
        facility: 'local4',
        severity: 'notice',
        timestamp: '2003-08-24T05:14:15.000003-07:00',
        procid: '77',
        structured_data: { 'a@1': { x: '1', y: 'q"]\\ \\n' }, 'b@2': {} },
        message: 'text',
      },
    ],
    ['<14>1 - - - - - -', { version: 1, timestamp: null, hostname: null, message: '' }],
    // Malformed structured data: the whole is text.
    ['<14>1 - - - - - [a x=1] m', { version: null, message: '1 - - - - - [a x=1] m' }],
    [
      "<34>Oct 11 22:14:15 mymachine su[12]: 'su root' failed",
      {
        version: null,
        timestamp: local('2025-10-11T22:14:15'),
        hostname: 'mymachine',
        appname: 'su',
        procid: '12',
        message: "'su root' failed",
      },
    ],
    [
      '<13>Jan  2 03:04:05 h t: m',
      { timestamp: local('2026-01-02T03:04:05'), hostname: 'h', appname: 't', message: 'm' },
    ],
    [
      '<13>2026-11-22T07:00:00.5+01:00 h t: m',
      { timestamp: '2026-11-22T07:00:00.5+01:00', hostname: 'h', message: 'm' },
    ],
    [
      '<0>app[1]: m',
      { facility: 'kern', severity: 'emerg', hostname: null, appname: 'app', procid: '1', message: 'm' },
    ],
    ['note: no header', { facility: 'user', severity: 'notice', timestamp: null, message: 'note: no header' }],
    ['<999>x', { facility: 'user', severity: 'notice', message: '<999>x' }],
  ]
  for (const [text, parts] of CASES) t.match(readSyslog(text, NOW), parts, text)
  t.same(
    Object.keys(readSyslog('<14>1 - - - - - [__proto__ a="b"] x', NOW).structured_data),
    ['__proto__'],
    'names of objects are names',
  )
})

t.test('of much structured data the beginning is read, and the rest is text of the message', async (t) => {
  const elements = Array.from({ length: 20_000 }, (_, at) => `[e${at} a="1" b="\\""]`)
  const found = readSyslog(`<14>1 - h - - - ${elements.join('')} text`, NOW)
  const read = Object.keys(found.structured_data)
  t.ok(read.length > 1000 && read.length < 5000, `${read.length} elements`)
  t.equal(found.hostname, 'h')
  t.equal(found.message, `${elements.slice(read.length).join('')} text`)
  const long = `[a b="${'x'.repeat(70_000)}"]`
  t.match(readSyslog(`<14>1 - h - - - ${long} text`, NOW), { structured_data: {}, message: `${long} text` })
})

t.test('messages are the same however a connection is cut', async (t) => {
  const CASES: [text: string, found: (string | undefined)[], error?: RegExp][] = [
    ['<1>a\n<2>b\r\n\n<3>c', ['<1>a', '<2>b', '<3>c']],
    ['4 <1>a10 <2>b\n23456<3>c\n3 <4>', ['<1>a', '<2>b\n23456', '<3>c', '<4>']],
    [`${'x'.repeat(20)}\r\n<1>a\n`, ['x'.repeat(20), '<1>a']],
    [`${'x'.repeat(21)}\n<1>a\n`, [undefined, '<1>a']],
    [`25 ${'y'.repeat(25)}4 <1>a`, [undefined, '<1>a']],
    ['9 <1>a', [], /inside of a message/],
    ['9x', [], /invalid length/],
    ['1234567890 a', [], /invalid length/],
  ]
  for (const [text, expected, error] of CASES)
    for (const size of [1, 2, 3, 7, 1000]) {
      const found: (string | undefined)[] = []
      const read = () => {
        const frames = new SyslogFrames(20, (bytes) => found.push(bytes && Buffer.from(bytes).toString()))
        for (let at = 0; at < text.length; at += size) frames.read(Buffer.from(text.slice(at, at + size)))
        frames.end()
      }
      if (error === undefined) read()
      else t.throws(read, BrokenFraming)
      t.same(found, expected, `${text.slice(0, 20)} by ${size}`)
    }
})

t.test('a TCP listener reads both framings of several connections', async (t) => {
  const folder = testFolder(t)
  const { run, stats, rejected, listening, read, stop } = sourceRun(folder, { syslog: { listen: '127.0.0.1:0' } })
  const running = run()
  const port = Number(new URL(await listening).port)
  const send = async (text: string) => {
    const socket = connect(port, '127.0.0.1')
    socket.end(text)
    await once(socket, 'close')
  }
  const counted = `<14>1 - - - - - - ${recordOf('a', 500)}`
  await Promise.all([
    send(`${counted.length} ${counted}<14>Oct 11 22:14:15 h app: @cee: ${recordOf('b')}\n`),
    send(`<14>1 - - - - - - not JSON\n<14>1 - - - - - - ${recordOf('c')}`),
    send(`<14>${'x'.repeat(2 ** 20)}\n${recordOf('d')}\n`),
    ...Array.from({ length: 20 }, async (_, n) => await send(`<14>1 - - - - - - ${recordOf(`m${n}`)}\n`)),
  ])
  await read(26)
  stop()
  t.same(await running, { end: 'done' })
  t.same(lines(folder).slice(0, 4), ['"a",500', '"b",200', '"c",200', '"d",200'])
  t.match(stats, { read: 26, rejected: 2, delivered: 24 })
  t.match(rejected.sort(), [
    /^syslog 127.0.0.1: a record is a JSON object/,
    /^syslog 127.0.0.1: the message is longer than/,
  ])
})

t.test('a UDP listener reads a message of each datagram', async (t) => {
  const folder = testFolder(t)
  const { run, listening, read, stop } = sourceRun(folder, { syslog: { listen: '127.0.0.1:0', protocol: 'udp' } })
  const running = run()
  const port = Number(new URL(await listening).port)
  const socket = createSocket('udp4')
  for (const id of ['a', 'b', 'c'])
    await new Promise((resolve) => socket.send(`<14>1 - - - - - - ${recordOf(id)}\n`, port, '127.0.0.1', resolve))
  socket.close()
  await read(3)
  stop()
  t.same(await running, { end: 'done' })
  t.same(lines(folder), ['"a",200', '"b",200', '"c",200'])
})

t.test('a TLS listener has its certificate and can require one of clients', async (t) => {
  const files = { cert_file: tlsFile('cert.pem'), key_file: tlsFile('key.pem') }
  const ca = readFileSync(CA_FILE)
  for (const required of [false, true]) {
    const folder = testFolder(t)
    const { run, stats, listening, read, stop } = sourceRun(folder, {
      syslog: { listen: '127.0.0.1:0', protocol: 'tls', ...files, ...(required && { client_ca_file: CA_FILE }) },
    })
    const running = run()
    const port = Number(new URL(await listening).port)
    const send = async (id: string, client: object) => {
      const socket = connectTls({ port, host: '127.0.0.1', ca, ...client })
      socket.on('error', () => {}).resume()
      socket.end(`<14>1 - - - - - - ${recordOf(id)}\n`)
      await new Promise((resolve) => socket.once('close', resolve))
    }
    await send('anonymous', {})
    await send('known', { cert: readFileSync(files.cert_file), key: readFileSync(files.key_file) })
    await read(required ? 1 : 2)
    stop()
    t.same(await running, { end: 'done' })
    t.same(lines(folder), required ? ['"known",200'] : ['"anonymous",200', '"known",200'])
    t.equal(stats.rejected, 0)
  }
})

t.test('a listener that cannot start says why', async (t) => {
  const folder = testFolder(t)
  const tls = sourceRun(folder, { syslog: { listen: '127.0.0.1:0', protocol: 'tls' } })
  await t.rejects(tls.run(), { message: /needs cert_file and key_file/ })
  const first = sourceRun(folder, { syslog: { listen: '127.0.0.1:0' } })
  const running = first.run()
  const { host } = new URL(await first.listening)
  const second = sourceRun(folder, { syslog: { listen: host } }, '', 'other')
  await t.rejects(second.run(), { message: /^cannot listen on 127\.0\.0\.1:\d+: .*choose another address/ })
  first.stop()
  await running
})
