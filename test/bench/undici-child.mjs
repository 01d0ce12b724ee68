// The least that a proxy on node:http and undici can do: headers as they come, no limits, no back-pressure.
import { createServer } from 'node:http'
import { createRequire } from 'node:module'

const { Pool } = createRequire(new URL('../../package.json', import.meta.url))('undici')
const pool = new Pool(process.argv[2], { connections: 256 })
const server = createServer((request, response) => {
  pool.dispatch(
    { path: request.url, method: request.method, headers: request.rawHeaders },
    {
      onConnect() {},
      onHeaders(status, raw) {
        response.writeHead(
          status,
          raw.map((part) => part.toString('latin1')),
        )
        return true
      },
      onData: (chunk) => response.write(chunk),
      onComplete: () => response.end(),
      onError: () => response.destroy(),
    },
  )
})
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('disconnect', () => process.exit(0))
