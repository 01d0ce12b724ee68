import { hostOf, siteOf } from '../../exchange/site.js'
import { aliasOf } from '../../exchange/markdown-addresses.js'
import { siteKey } from './observed-page.js'
import type { PageIndex } from './page-index.js'
import { MCP_PATH, type Caller } from './read-page.js'

const MAX_BYTES = 1024 * 1024
const MAX_PAGES = 5000
/** Lists are read again after this time, and their entries expire after two. */
const REFRESH_MS = 600_000
/** If a list cannot be read: the client may not read it, or asks too often, and the next one may. */
const RETRY_MS = 5000
/** Sites whose lists were read. A zone can have any number of hosts. */
const MAX_SITES = 1000

const ENTRY = /^\s*[-*] +\[((?:[^\]\\\n]|\\.)*)\]\(<?([^)>\s]+)>?\)(?:: *(.*))?$/gm
const LOCATION = /<loc>\s*([^<\s]+)\s*<\/loc>/gi

interface Reading {
  /** The lists are read again then, on the clock's `monotonic` scale. */
  until: number
  readonly purges: number
  readonly done: Promise<boolean>
}

/** Adds the pages that a site lists to the index. They are the pages of its llms.txt, or of its sitemap. */
export class ListedPages {
  readonly #index: PageIndex
  readonly #now: () => number
  readonly #read = new Map<string, Reading>()

  constructor(index: PageIndex, now: () => number) {
    this.#index = index
    this.#now = now
  }

  /** Resolves when the lists of the caller's site have been read. */
  async know(caller: Caller): Promise<void> {
    const key = siteKey(caller.exchange)
    const known = this.#read.get(key)
    const { purges } = this.#index
    if (known?.purges === purges && this.#now() < known.until) return void (await known.done)
    const reading: Reading = { until: this.#now() + REFRESH_MS, purges, done: this.#readLists(caller, key) }
    this.#read.delete(key)
    this.#read.set(key, reading)
    for (const [oldest] of this.#read) {
      if (this.#read.size <= MAX_SITES) break
      this.#read.delete(oldest)
    }
    if (!(await reading.done)) reading.until = this.#now() + RETRY_MS
  }

  /** Resolves with whether a list was found. */
  async #readLists(caller: Caller, key: string): Promise<boolean> {
    const list = await textOf(caller, '/llms.txt')
    const entries = [...(list?.matchAll(ENTRY) ?? [])].map(([, title = '', address = '', description = '']) => ({
      title: title.replaceAll(/\\(.)/g, '$1'),
      address,
      description,
    }))
    if (entries.length === 0) {
      const sitemap = await textOf(caller, '/sitemap.xml')
      for (const [, address = ''] of sitemap?.matchAll(LOCATION) ?? [])
        entries.push({ title: '', address: address.replaceAll('&amp;', '&'), description: '' })
    }
    const { exchange } = caller
    const expiresAt = this.#now() + 2 * REFRESH_MS
    for (const { title, address, description } of entries.slice(0, MAX_PAGES)) {
      if (!URL.canParse(address, `${siteOf(exchange)}/`)) continue
      const url = new URL(address, `${siteOf(exchange)}/`)
      if (!/^https?:$/.test(url.protocol) || url.host !== new URL(`http://${hostOf(exchange)}`).host) continue
      const target = url.pathname + url.search
      const alias = aliasOf({ target, zone: exchange.zone })
      const path = alias?.type === 'page' ? alias.target : target
      if (path.startsWith(MCP_PATH) || this.#index.has(key, path)) continue
      const name = title || path.replaceAll(/[/_-]+|\.\w+$/g, ' ').trim()
      this.#index.add(key, path, { title: name || path, text: description, expiresAt })
    }
    return entries.length > 0
  }
}

async function textOf({ exchange, connection, get }: Caller, target: string): Promise<string | undefined> {
  const { response } = get({ exchange, connection, target, accept: 'text/plain, */*;q=0.5', maxBytes: MAX_BYTES })
  const { status, body } = await response
  return status === 200 ? body.toString() : undefined
}
