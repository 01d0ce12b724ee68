// Responds to each path with a body of its own. Sends its port.
import { createServer } from 'node:http'
import { bodyOf } from './cache.mjs'

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) =>
  response.setHeader('cache-control', 'max-age=3600').end(bodyOf(request.url)),
).listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('disconnect', () => process.exit(0))
