// Sends an exact number of requests on keep-alive connections for each message { requests }, and sends {} when all have
// their responses. HTTP/1.1, or HTTP/2 over TLS with four streams at a time on each connection.
import { connect } from 'node:net'
import { connect as connectHttp2 } from 'node:http2'

const [protocol, port, host, connections, ...lines] = process.argv.slice(2)
const END_OF_CHUNKS = Buffer.from('0\r\n\r\n')
const STREAMS = 4

/** Returns a function that sends one request and calls `done` at the end of its response. */
function http1() {
  const request = Buffer.from(`GET / HTTP/1.1\r\nHost: ${host}\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`)
  const socket = connect({ port: Number(port), host: '127.0.0.1', noDelay: true })
  /** Bytes of the whole response. -1: not known yet, -2: chunked. */
  let wanted = -1
  let had = 0
  let whenDone
  socket.on('data', (chunk) => {
    if (had === 0) {
      const head = chunk.toString('latin1')
      if (!head.startsWith('HTTP/1.1 200')) throw new Error(head.slice(0, 300))
      const end = head.indexOf('\r\n\r\n') + 4
      const length = /content-length: (\d+)/i.exec(head.slice(0, end))
      wanted = length ? end + Number(length[1]) : -2
    }
    had += chunk.length
    if (wanted >= 0 ? had < wanted : !chunk.subarray(-END_OF_CHUNKS.length).equals(END_OF_CHUNKS)) return
    had = 0
    whenDone()
  })
  return (done) => {
    whenDone = done
    socket.write(request)
  }
}

function http2() {
  const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false, servername: host })
  const fields = Object.fromEntries(lines.map((line) => line.toLowerCase().split(': ')))
  return (done) => {
    const stream = session.request({ ':path': '/', ':authority': host, ...fields })
    stream.on('response', ({ ':status': status }) => {
      if (status !== 200) throw new Error(`status ${status}`)
    })
    stream.on('end', done)
    stream.resume()
  }
}

const senders = Array.from({ length: Number(connections) }, protocol === 'h2' ? http2 : http1)
const lanes = protocol === 'h2' ? senders.flatMap((send) => Array.from({ length: STREAMS }, () => send)) : senders

process.on('message', ({ requests }) => {
  let begun = 0
  let ended = 0
  for (const send of lanes) {
    const next = () => {
      if (begun === requests) return
      begun++
      send(() => {
        ended++
        if (ended === requests) process.send({})
        else next()
      })
    }
    next()
  }
})
process.on('disconnect', () => process.exit(0))
process.send({})
