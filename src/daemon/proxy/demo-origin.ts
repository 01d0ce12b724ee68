import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, relative, sep } from 'node:path'
import type { Config, ZoneConfig } from '../../config/schema.js'
import { PACKAGE_ROOT } from '../../release/package.js'
import { portOf } from './own-urls.js'

const SITE = join(PACKAGE_ROOT, 'demo', 'site')

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

interface SampleSite {
  readonly origin: string
  close(): void
}

/** Puts the URL of the bundled sample site in place of `origin: demo`. The site starts with the first zone that names it. */
export class DemoOrigin {
  readonly #ports: Set<number>
  #starting: Promise<SampleSite> | undefined
  /** By zone as it was configured: one that did not change stays the same object. */
  readonly #resolved = new WeakMap<ZoneConfig, ZoneConfig>()

  /** `ports` are the ports of the daemon's own listeners. The port of the site is added. */
  constructor(ports: Set<number>) {
    this.#ports = ports
  }

  /** Returns the configuration with the URL of the site. Zones with other origins stay the same objects. */
  async resolve(config: Config): Promise<Config> {
    if (!config.zones.some(isDemo)) return config
    this.#starting ??= startSite().catch((error: unknown) => {
      // The next configuration tries again.
      this.#starting = undefined
      throw error
    })
    const { origin } = await this.#starting
    this.#ports.add(portOf(origin))
    return { ...config, zones: config.zones.map((zone) => (isDemo(zone) ? this.#zone(zone, origin) : zone)) }
  }

  async close(): Promise<void> {
    const site = await this.#starting?.catch(() => undefined)
    site?.close()
  }

  #zone(zone: ZoneConfig, origin: string): ZoneConfig {
    const known = this.#resolved.get(zone) ?? {
      ...zone,
      ...(zone.origin === 'demo' && { origin }),
      paths: zone.paths.map((path) => (path.origin === 'demo' ? { ...path, origin } : path)),
    }
    this.#resolved.set(zone, known)
    return known
  }
}

const isDemo = ({ origin, paths }: ZoneConfig): boolean =>
  origin === 'demo' || paths.some((path) => path.origin === 'demo')

/** Serves the sample site on a free port of the loopback address. */
async function startSite(): Promise<SampleSite> {
  const pages = await readSite()
  const server = createServer((request, response) => {
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/'
    const page = pages.get(path) ?? pages.get(`${path}index.html`)
    if (request.method !== 'GET' && request.method !== 'HEAD') response.writeHead(405, { allow: 'GET, HEAD' }).end()
    else if (!page)
      response.writeHead(404, { 'content-type': 'text/html; charset=utf-8' }).end('<h1>No such page</h1>\n')
    else {
      const fields = { etag: page.etag, 'cache-control': 'max-age=300' }
      if (request.headers['if-none-match']?.includes(page.etag)) response.writeHead(304, fields).end()
      else
        response
          .writeHead(200, { 'content-type': page.type, 'content-length': page.body.length, ...fields })
          .end(page.body)
    }
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

interface SamplePage {
  readonly type: string
  readonly etag: string
  readonly body: Buffer
}

async function readSite(): Promise<Map<string, SamplePage>> {
  const pages = new Map<string, SamplePage>()
  for (const entry of await readdir(SITE, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    const type = TYPES[extname(file)] ?? 'application/octet-stream'
    const body = await readFile(file)
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 16)}"`
    pages.set(`/${relative(SITE, file).split(sep).join('/')}`, { type, etag, body })
  }
  return pages
}
