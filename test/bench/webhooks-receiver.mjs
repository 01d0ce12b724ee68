// A receiver of webhooks over TLS: answers 204 and counts; tells its port, and how many when it is asked.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
const tls = (name) => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url))

let received = 0
let connections = 0
const server = createServer({ key: tls('key.pem'), cert: tls('cert.pem') }, (request, response) => {
  request.resume().once('end', () => {
    received++
    response.writeHead(204).end()
  })
})
server.on('secureConnection', () => connections++)
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('message', () => process.send({ received, connections }))
process.on('disconnect', () => process.exit())
