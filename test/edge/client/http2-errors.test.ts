import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import {
  ACK,
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  type Frame,
  getFields,
  GOAWAY,
  HEADERS,
  PING,
  PREFACE,
  RawHttp2,
  SETTINGS,
  SETTINGS_FRAME,
  uint32,
  WINDOW_UPDATE,
} from '../../helpers/http2-frames.js'
import { metric, startOrigin, startProxy, type TestProxy } from '../../helpers/proxy.js'
import { CA_FILE, tlsFile } from '../../helpers/tls.js'
import { until } from '../../helpers/web.js'

const CA = readFileSync(CA_FILE)
const FILES = `{ cert_file: '${tlsFile('cert.pem')}', key_file: '${tlsFile('key.pem')}' }`
const START = Buffer.concat([PREFACE, SETTINGS_FRAME])
const GET = frame(HEADERS, END_STREAM | END_HEADERS, 1, getFields())
/** Codes of errors (RFC 9113, 7). */
const [PROTOCOL_ERROR, FLOW_CONTROL_ERROR, FRAME_SIZE_ERROR] = [1, 3, 6]

async function start(t: Test): Promise<TestProxy> {
  const { url } = await startOrigin(t, (_request, response) => response.end('ok'))
  return await startProxy(t, url, { yaml: `{ tls: { listen: 127.0.0.1:0, http2: on, certificates: [${FILES}] } }` })
}

async function open(t: Test, proxy: TestProxy): Promise<RawHttp2> {
  const client = await RawHttp2.open(proxy.tls!.port, CA)
  t.teardown(() => client.socket.destroy())
  client.write(START)
  await client.find(({ type, flags }) => type === SETTINGS && flags === ACK)
  return client
}

const isAcknowledgement = ({ type, flags }: Frame): boolean => type === PING && flags === ACK

const settings = (id: number, value: number): Buffer =>
  frame(SETTINGS, 0, 0, Buffer.concat([Buffer.from([0, id]), uint32(value)]))

const NO_PING = frame(PING, ACK, 0, Buffer.from('nobody..'))

const ERRORS: [what: string, frames: Buffer[], code: number][] = [
  ['a window of the connection above 2^31-1', [window(0, 0x7fffffff), window(0, 0x7fffffff)], FLOW_CONTROL_ERROR],
  ['a window of the connection that grows by 0', [window(0, 0)], PROTOCOL_ERROR],
  ['an initial window above 2^31-1', [settings(4, 0x80000000)], FLOW_CONTROL_ERROR],
  ['ENABLE_PUSH of 2', [settings(2, 2)], PROTOCOL_ERROR],
  ['frames of at most 1 byte', [settings(5, 1)], PROTOCOL_ERROR],
  ['SETTINGS of 5 bytes', [frame(SETTINGS, 0, 0, Buffer.alloc(5))], FRAME_SIZE_ERROR],
  ['DATA on stream 0', [frame(DATA, 0, 0, Buffer.from('x'))], PROTOCOL_ERROR],
  ['an acknowledgement of no PING and then DATA on stream 0', [NO_PING, frame(DATA, 0, 0)], PROTOCOL_ERROR],
]

function window(stream: number, by: number): Buffer {
  return frame(WINDOW_UPDATE, 0, stream, uint32(by))
}

t.test('an error of the connection is named by its code, and ends the connection', async (t) => {
  const proxy = await start(t)
  for (const [what, frames, code] of ERRORS) {
    const client = await open(t, proxy)
    client.write(...frames)
    const goaway = await client.find(({ type }) => type === GOAWAY)
    t.equal(goaway?.payload.readUInt32BE(4), code, what)
    await client.find(() => false)
    t.ok(client.closed, what)
    t.equal(client.frames.filter(({ type }) => type === GOAWAY).length, 1, what)
  }
  await until(async () => (await metric(proxy.metrics, 'edged_proxy_connections')) === 0)
})

t.test('an error in the middle of requests ends them, and frees the connection', async (t) => {
  const held: (() => void)[] = []
  const { url } = await startOrigin(t, (_request, response) => void held.push(() => response.end('ok')))
  const yaml = `{ tls: { listen: 127.0.0.1:0, http2: on, certificates: [${FILES}] } }`
  const proxy = await startProxy(t, url, { yaml })
  const client = await open(t, proxy)
  client.write(GET, frame(HEADERS, END_STREAM | END_HEADERS, 3, getFields()))
  await until(() => held.length === 2)
  client.write(window(0, 0x7fffffff))
  await client.find(() => false)
  t.equal(client.frames.find(({ type }) => type === GOAWAY)?.payload.readUInt32BE(4), FLOW_CONTROL_ERROR)
  await until(async () => (await metric(proxy.metrics, 'edged_proxy_requests_in_flight')) === 0)
  await until(async () => (await metric(proxy.metrics, 'edged_proxy_connections')) === 0)
  for (const respond of held) respond()
})

t.test('an acknowledgement of no PING is not acknowledged, and harms nothing (RFC 9113, 6.7)', async (t) => {
  const proxy = await start(t)
  const client = await open(t, proxy)
  const asked = Buffer.from('a client')
  client.write(NO_PING, frame(PING, 0, 0, asked))
  t.strictSame((await client.find(isAcknowledgement))?.payload, asked)
  client.write(GET)
  t.equal(await client.outcome(1), 'response')
  t.equal(client.frames.filter(isAcknowledgement).length, 1)
  client.write(NO_PING)
  client.write(frame(HEADERS, END_STREAM | END_HEADERS, 3, getFields()))
  t.equal(await client.outcome(3), 'response')
})

t.test('a flood of acknowledgements of no PING ends the connection', async (t) => {
  const proxy = await start(t)
  const client = await open(t, proxy)
  const flood = Buffer.concat(Array.from({ length: 100 }, () => NO_PING))
  const sync = (id: number): Buffer => frame(PING, 0, 0, Buffer.from(`flood ${String(id).padStart(2, '0')}`))
  for (let round = 0; round < 30 && !client.closed; round++) {
    client.write(flood, sync(round))
    const payload = sync(round).subarray(9)
    await client.find((one) => one.type === GOAWAY || (isAcknowledgement(one) && one.payload.equals(payload)))
  }
  await client.find(() => false)
  t.ok(client.closed)
  await until(async () => (await metric(proxy.metrics, 'edged_proxy_connections')) === 0)
})
