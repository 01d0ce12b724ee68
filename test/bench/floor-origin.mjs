// An origin with the head of nginx and a page of 10 KB, as little as an origin can do. Run as a child it sends its port.
import { createServer } from 'node:net'
import { page } from './origin.mjs'

const body = Buffer.from(page())
const LINES = [
  'HTTP/1.1 200 OK',
  'Server: nginx/1.22.1',
  'Date: Sat, 28 Nov 2026 12:00:00 GMT',
  'Content-Type: text/html; charset=utf-8',
  `Content-Length: ${body.length}`,
  'Last-Modified: Sat, 28 Nov 2026 11:00:00 GMT',
  'Connection: keep-alive',
  'ETag: "6a4f1c30-27d8"',
  'Accept-Ranges: bytes',
]
const response = (...more) => Buffer.concat([Buffer.from(`${[...LINES, ...more].join('\r\n')}\r\n\r\n`), body])
const RESPONSE = response()
const CACHED = response('Cache-Control: max-age=86400')
const END_OF_HEAD = Buffer.from('\r\n\r\n')

/** Requests have no body, and the next request comes after the response. */
const server = createServer({ noDelay: true }, (socket) => {
  let held = Buffer.alloc(0)
  socket.on('data', (chunk) => {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk])
    if (!held.subarray(-END_OF_HEAD.length).equals(END_OF_HEAD)) return
    socket.write(held.includes('host: cache.test') ? CACHED : RESPONSE)
    held = Buffer.alloc(0)
  })
  socket.on('error', () => undefined)
})
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port, bytes: body.length }))
process.on('disconnect', () => process.exit(0))
