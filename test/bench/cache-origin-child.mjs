// Origin of the cache benchmark: /bytes/N has N bytes, /page the page of the first argument, /slow/* responds late. Sends
// its port, and the number of requests when asked for it.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

const SLOW_MS = 500
const page = readFileSync(process.argv[2])
let requests = 0

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  requests++
  const bytes = Number(/^\/bytes\/(\d+)/.exec(request.url)?.[1] ?? 0)
  const body =
    bytes > 0 ? Buffer.alloc(bytes, 'cached text\n') : request.url.startsWith('/page') ? page : Buffer.from('slow')
  response.writeHead(200, {
    'content-type': body === page ? 'text/html; charset=utf-8' : 'text/plain',
    'content-length': body.length,
    'cache-control': 'max-age=3600',
  })
  if (request.url.startsWith('/slow')) setTimeout(() => response.end(body), SLOW_MS)
  else response.end(body)
})
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('message', () => process.send({ requests }))
process.on('disconnect', () => process.exit(0))
