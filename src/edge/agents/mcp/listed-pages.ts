import { hostOf, siteOf } from '../../exchange/site.js'
import { aliasOf } from '../../exchange/markdown-addresses.js'
import { siteKey } from './observed-page.js'
import type { PageIndex } from './page-index.js'
import { MCP_PATH, type Caller } from './read-page.js'

const MAX_BYTES = 1024 * 1024
const MAX_PAGES = 5000
/** Lists are read again after this time, and their entries expire after two. */
const REFRESH_MS = 600_000

const ENTRY = /^\s*[-*] +\[((?:[^\]\\\n]|\\.)*)\]\(<?([^)>\s]+)>?\)(?:: *(.*))?$/gm
const LOCATION = /<loc>\s*([^<\s]+)\s*<\/loc>/gi

/** Adds the pages that a site lists to the index. They are the pages of its llms.txt, or of its sitemap. */
export class ListedPages {
  readonly #index: PageIndex
  readonly #now: () => number
  readonly #read = new Map<string, { readonly at: number; readonly purges: number; readonly done: Promise<void> }>()

  constructor(index: PageIndex, now: () => number) {
    this.#index = index
    this.#now = now
  }

  /** Resolves when the lists of the caller's site have been read. */
  async know(caller: Caller): Promise<void> {
    const key = siteKey(caller.exchange)
    const known = this.#read.get(key)
    const { purges } = this.#index
    if (known?.purges === purges && this.#now() - known.at < REFRESH_MS) return await known.done
    const done = this.#readLists(caller, key)
    this.#read.set(key, { at: this.#now(), purges, done })
    // Bounded: each key is a site that is served, and old ones are read again anyway.
    for (const [other, { at }] of this.#read) if (this.#now() - at >= REFRESH_MS) this.#read.delete(other)
    await done
  }

  async #readLists(caller: Caller, key: string): Promise<void> {
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
  }
}

async function textOf({ exchange, connection, get }: Caller, target: string): Promise<string | undefined> {
  const { response } = get({ exchange, connection, target, accept: 'text/plain, */*;q=0.5', maxBytes: MAX_BYTES })
  const { status, body } = await response
  return status === 200 ? body.toString() : undefined
}
