// Keep-alive load on one URL: a bounded number of connections for a bounded time. Sends { requests, seconds, p50, p99 }.
// With a number of hosts, requests go to z0.bench.test, z1.bench.test and so on in turn; skewed: the share of the
// host of rank N is proportional to 1/N.
import { connect } from 'node:net'

const [port, connections, seconds, hosts, skewed, status, path, host, ...headers] = process.argv.slice(2)
const requestTo = (name) =>
  Buffer.from(`GET ${path} HTTP/1.1\r\nHost: ${name}\r\n${headers.map((header) => `${header}\r\n`).join('')}\r\n`)
const requests =
  Number(hosts) === 0
    ? [requestTo(host)]
    : Array.from({ length: Number(hosts) }, (_, n) => requestTo(`z${n}.bench.test`))
let turn = 0
const END_OF_CHUNKS = Buffer.from('0\r\n\r\n')
const until = performance.now() + Number(seconds) * 1000
const times = []
let open = Number(connections)

for (let i = 0; i < Number(connections); i++) {
  const socket = connect(Number(port), '127.0.0.1')
  let wanted = -1 // bytes of the whole answer; -1: not known yet, -2: chunked
  let had = 0
  let began = 0
  const next = () => {
    if (performance.now() > until) return socket.end()
    wanted = -1
    had = 0
    began = performance.now()
    const at = skewed === 'true' ? Math.floor(requests.length ** Math.random()) - 1 : turn++ % requests.length
    socket.write(requests[Math.max(0, at)])
  }
  socket.on('connect', next)
  socket.on('data', (chunk) => {
    if (had === 0) {
      const head = chunk.toString('latin1')
      const end = head.indexOf('\r\n\r\n') + 4
      if (!head.startsWith(`HTTP/1.1 ${status}`)) throw new Error(head.slice(0, 200))
      const length = /content-length: (\d+)/i.exec(head.slice(0, end))
      wanted = length ? end + Number(length[1]) : -2
    }
    had += chunk.length
    const done = wanted >= 0 ? had >= wanted : chunk.subarray(-5).equals(END_OF_CHUNKS)
    if (!done) return
    times.push(performance.now() - began)
    next()
  })
  socket.on('close', () => {
    if (--open > 0) return
    times.sort((a, b) => a - b)
    const at = (share) => times[Math.floor(times.length * share)]
    process.send({ requests: times.length, seconds: Number(seconds), p50: at(0.5), p99: at(0.99) })
    process.disconnect()
  })
}
