// A receiver of webhooks over TLS: answers 204 and counts, or does worse at other paths; tells its port, and its counts when
// it is asked.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
const tls = (name) => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url))

const GIGABYTE = 2 ** 30
const BLOCK = Buffer.alloc(65_536)
let received = 0
let connections = 0
let flooded = 0

const HOSTILE = {
  '/flood'(response) {
    response.writeHead(200, { 'content-length': GIGABYTE })
    let left = GIGABYTE
    const more = () => {
      while (left > 0 && !response.destroyed) {
        left -= BLOCK.length
        flooded += BLOCK.length
        if (!response.write(BLOCK)) return response.once('drain', more)
      }
    }
    more()
  },
  '/trickle'(response) {
    response.writeHead(200)
    const timer = setInterval(() => response.write('x'), 100)
    response.once('close', () => clearInterval(timer))
  },
  '/hang'() {},
  '/reset': (response) => response.socket.destroy(),
}

const server = createServer({ key: tls('key.pem'), cert: tls('cert.pem') }, (request, response) => {
  request.resume().once('end', () => {
    received++
    const hostile = HOSTILE[request.url]
    if (hostile) hostile(response)
    else response.writeHead(204).end()
  })
})
server.on('secureConnection', () => connections++)
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('message', () => process.send({ received, connections, flooded }))
process.on('disconnect', () => process.exit())
