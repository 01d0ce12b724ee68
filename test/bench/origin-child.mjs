// Serves one file as HTML.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

const page = readFileSync(process.argv[2])
const server = createServer({ keepAliveTimeout: 60_000 }, (_request, response) => {
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-length': page.length })
  response.end(page)
})
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('disconnect', () => process.exit(0))
