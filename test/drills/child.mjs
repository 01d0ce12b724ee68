// A process of the drills: `origin` serves them, `probe URL ...` measures what another client sees.
import { createServer, get } from 'node:http'

const LARGE = Buffer.alloc(8 * 1024 * 1024)
const PARAGRAPH = '<p>Some <strong>text</strong> with a <a href="/a">link</a> &amp; more of the same.</p>\n'
const PAGE = Buffer.from(PARAGRAPH.repeat(Math.floor((6 * 1024 * 1024) / PARAGRAPH.length)))

const ROLES = {
  origin() {
    const server = createServer((request, response) => {
      request.resume()
      request.on('error', () => undefined)
      if (request.url === '/large') response.end(LARGE)
      else if (request.url === '/page') response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE)
      else response.end('ok')
    })
    server.listen(0, '127.0.0.1', () => process.send(server.address().port))
  },

  /** Each message is a URL, a host and an address of this machine: sends back the status and the milliseconds. */
  probe() {
    process.on('message', ({ url, host, localAddress }) => {
      const started = performance.now()
      const done = (status) => process.send({ status, ms: performance.now() - started })
      get(url, { headers: { host }, localAddress, agent: false, timeout: 35_000 }, (response) => {
        response.resume()
        response.on('end', () => done(response.statusCode))
      })
        .on('timeout', (request) => request?.destroy())
        .on('error', ({ message }) => done(message))
    })
  },
}

process.on('disconnect', () => process.exit())
ROLES[process.argv[2]]()
