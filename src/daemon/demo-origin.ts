import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, relative, sep } from 'node:path'
import { PACKAGE_ROOT } from '../package.js'

const SITE = join(PACKAGE_ROOT, 'demo', 'site')

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** The bundled sample site, served on a free port of the loopback address, for `origin: demo`. */
export async function startDemoOrigin(): Promise<{ origin: string; close(): void }> {
  const pages = await readSite()
  const server = createServer((request, response) => {
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/'
    const page = pages.get(path) ?? pages.get(`${path}index.html`)
    if (request.method !== 'GET' && request.method !== 'HEAD') response.writeHead(405, { allow: 'GET, HEAD' }).end()
    else if (!page)
      response.writeHead(404, { 'content-type': 'text/html; charset=utf-8' }).end('<h1>No such page</h1>\n')
    else response.writeHead(200, { 'content-type': page.type, 'content-length': page.body.length }).end(page.body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

async function readSite(): Promise<Map<string, { type: string; body: Buffer }>> {
  const pages = new Map<string, { type: string; body: Buffer }>()
  for (const entry of await readdir(SITE, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    const type = TYPES[extname(file)] ?? 'application/octet-stream'
    pages.set(`/${relative(SITE, file).split(sep).join('/')}`, { type, body: await readFile(file) })
  }
  return pages
}
