// A process of the drills: `origin` and `lines` serve them, `probe` measures what another client sees.
import { createHash } from 'node:crypto'
import { createServer, get } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'

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

  /**
   * An origin whose responses name their request in every line: `/ID/LINES?delay=MS&break=N`. With `break` the
   * connection ends after N lines. The hash of the request body is in a header field.
   */
  lines() {
    const server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url, 'http://origin')
      const [, id, lines] = pathname.split('/')
      const broken = Number(searchParams.get('break') ?? Infinity)
      const hash = createHash('sha1')
      request.on('error', () => undefined)
      response.on('error', () => undefined)
      request.on('data', (chunk) => hash.update(chunk))
      const respond = async () => {
        await wait(Number(searchParams.get('delay') ?? 0))
        response.writeHead(200, { 'content-type': 'text/plain', 'x-id': id, 'x-hash': hash.digest('hex') })
        for (let line = 0; line < Number(lines); line++) {
          if (line === broken) return void response.destroy()
          response.write(`${id} ${line} of ${lines}\n`)
          // In several writes, so that responses of many streams are on their way together.
          if (line % 50 === 49) await wait(Math.random() * 5)
        }
        response.end()
      }
      request.on('end', () => void respond())
    })
    server.listen(0, '127.0.0.1', () => process.send(server.address().port))
  },

  /** Each message is a URL, a host and an address of this machine: sends back the status and the milliseconds. */
  probe() {
    process.on('message', ({ url, host, localAddress, headers = {} }) => {
      const started = performance.now()
      const done = (status) => process.send({ status, ms: performance.now() - started })
      get(url, { headers: { host, ...headers }, localAddress, agent: false, timeout: 35_000 }, (response) => {
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
