// The clients of the drill `mixing`: PORT CLIENTS SECONDS.
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, constants } from 'node:http2'
import { setTimeout as wait } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { CA_FILE, HOST } from './daemon.mjs'

const [port, clients, seconds] = process.argv.slice(2).map(Number)
const MAX_STREAMS = 8
const MAX_LINES = 400
const MAX_UPLOAD_BYTES = 200_000
/** Time for an ended session to finish its streams. */
const END_MS = 30_000
const ca = readFileSync(CA_FILE)

const counts = {
  sessions: 0,
  complete: 0,
  reset: 0,
  broken: 0,
  'ended with session': 0,
  refused: 0,
  'lost by client': 0,
}
const wrong = []
const until = performance.now() + seconds * 1000
let streams = 0

const random = (below) => Math.floor(Math.random() * below)
const isOver = () => performance.now() >= until

await Promise.all(Array.from({ length: clients }, (_, at) => client(at)))
process.send({ counts, wrong })
process.disconnect()

/** Opens one session after the other, each with its own address: limits count by address. */
async function client(at) {
  const localAddress = `127.0.${1 + Math.floor(at / 250)}.${1 + (at % 250)}`
  while (!isOver()) {
    await wait(random(300))
    const socket = connectTls({ port, host: '127.0.0.1', localAddress, ca, servername: HOST, ALPNProtocols: ['h2'] })
    socket.on('error', () => undefined)
    const session = connect(`https://${HOST}`, { createConnection: () => socket })
    session.on('error', () => undefined)
    counts.sessions++
    const state = { ended: false, abrupt: false }
    const closed = once(session, 'close').catch(() => undefined)
    const working = Array.from({ length: 1 + random(MAX_STREAMS) }, () => requests(session, state))
    await Promise.race([wait(200 + random(3000)), closed])
    state.ended = true
    // A polite end, an end of the session, an end of the connection below it.
    const way = random(3)
    // The client itself then ends its streams, as if they were complete.
    state.abrupt = way > 0
    if (way === 0) session.close()
    else if (way === 1) session.destroy()
    else socket.destroy()
    const finished = Promise.all([...working, closed]).then(() => true)
    if (await Promise.race([finished, wait(END_MS, false)])) continue
    // Rarely, the client of Node.js does not report the end of a session whose connection is closed.
    if (socket.readyState !== 'open') counts['lost by client']++
    else wrong.push('a session did not end, and its connection is open')
    socket.destroy()
  }
}

async function requests(session, state) {
  while (!state.ended && !session.closed && !session.destroyed && !isOver()) {
    await exchange(session, state)
    await wait(random(30))
  }
}

async function exchange(session, state) {
  const id = `s${streams++}`
  const lines = random(4) === 0 ? random(MAX_LINES) : random(20)
  const breaks = random(8) === 0
  const query = `delay=${random(3) === 0 ? random(100) : 0}${breaks ? `&break=${random(lines + 1)}` : ''}`
  const body = random(4) === 0 ? randomBytes(1 + random(MAX_UPLOAD_BYTES)) : undefined
  const resets = random(6) === 0
  let stream
  try {
    stream = session.request(
      { ':method': body ? 'POST' : 'GET', ':path': `/${id}/${lines}?${query}`, ':authority': HOST },
      { endStream: body === undefined },
    )
  } catch {
    return
  }
  let head
  let text = ''
  let isReset = false
  stream.setEncoding('utf8')
  stream.on('error', () => undefined)
  stream.on('response', (fields) => (head = fields))
  stream.on('data', (chunk) => (text += chunk))
  if (body) upload(stream, body)
  if (random(6) === 0) void pause(stream)
  if (resets)
    setTimeout(() => {
      isReset = !stream.closed
      stream.close(constants.NGHTTP2_CANCEL)
    }, random(120))
  await new Promise((resolve) => stream.once('close', resolve))
  judge({ id, lines, breaks, body, head, text, isReset, clean: stream.readableEnded, code: stream.rstCode, state })
}

/** Sends a body in parts, or gives up in the middle. */
function upload(stream, body) {
  const half = body.length >> 1
  stream.write(body.subarray(0, half))
  setTimeout(() => {
    if (!stream.destroyed) stream.end(body.subarray(half))
  }, random(20))
}

async function pause(stream) {
  stream.pause()
  await wait(random(200))
  stream.resume()
}

/** Every line must be of this stream, in order; a response that ends cleanly must have all of them. */
function judge({ id, lines, breaks, body, head, text, isReset, clean, code, state }) {
  const status = head?.[':status']
  if (status === 200) {
    if (head['x-id'] !== id) wrong.push(`stream ${id} got the head of ${head['x-id']}`)
    if (body && head['x-hash'] !== createHash('sha1').update(body).digest('hex'))
      wrong.push(`the origin got another body for ${id}`)
    const all = Array.from({ length: lines }, (_, line) => `${id} ${line} of ${lines}\n`).join('')
    if (!all.startsWith(text)) wrong.push(`stream ${id} got foreign bytes: ${JSON.stringify(text.slice(-80))}`)
    const isComplete = clean && code === constants.NGHTTP2_NO_ERROR && !isReset && !state.abrupt
    if (isComplete && text !== all) wrong.push(`stream ${id} ended cleanly after ${text.length} of ${all.length} bytes`)
    if (isComplete && text === all) return void counts.complete++
  }
  if (isReset) counts.reset++
  else if (breaks) counts.broken++
  else if (state.ended || isOver()) counts['ended with session']++
  else counts.refused++
}
