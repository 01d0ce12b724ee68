/** Words of a page that count, and maximum pages of all sites together. */
const MAX_WORDS = 2000
const MAX_PAGES = 5000
/** Characters of a page that are shown. */
const SNIPPET = 240
/** Estimated memory of a word in the dictionary, and of a page besides its words. */
const WORD_BYTES = 100
const PAGE_BYTES = 800

const WORD = /[\p{L}\p{N}]{2,40}/gu

// BM25 with its usual parameters. A word of the title counts as three.
const K1 = 1.2
const B = 0.75
const TITLE = 3

/** A page to be found. */
export interface IndexedPage {
  readonly title: string
  /** Markdown, or a description. */
  readonly text: string
  /** On the clock of the index. */
  readonly expiresAt: number
}

/** A page that was found. */
export interface Found {
  /** Path and query. */
  readonly path: string
  readonly title: string
  readonly snippet: string
}

interface Stored {
  readonly title: string
  readonly snippet: string
  /** Ids of its words in ascending order, and how often each occurs. */
  readonly words: Uint32Array
  readonly counts: Uint16Array
  readonly length: number
  readonly expiresAt: number
}

interface Word {
  readonly text: string
  /** Pages that have it. */
  pages: number
}

/**
 * The words of pages, by site, in bounded memory. The pages that were not found for the longest time are removed first.
 * A search compares all pages of the site, which takes a millisecond for thousands of pages.
 */
export class PageIndex {
  readonly #maxBytes: number
  readonly #now: () => number
  readonly #sites = new Map<string, Map<string, Stored>>()
  /** Keys of pages in the order of their last use. */
  readonly #used = new Map<string, readonly [site: string, path: string]>()
  readonly #ids = new Map<string, number>()
  readonly #words = new Map<number, Word>()
  #nextId = 1
  /** Number of purges. */
  purges = 0
  #bytes = 0

  constructor(maxBytes: number, now: () => number) {
    this.#maxBytes = maxBytes
    this.#now = now
  }

  /** Estimated memory. */
  get bytes(): number {
    return this.#bytes
  }

  has(site: string, path: string): boolean {
    const page = this.#sites.get(site)?.get(path)
    return page !== undefined && page.expiresAt > this.#now()
  }

  /** Adds a page, or replaces it. */
  add(site: string, path: string, { title, text, expiresAt }: IndexedPage): void {
    this.delete(site, path)
    if (expiresAt <= this.#now()) return
    const counts = new Map<string, number>()
    let length = 0
    const count = (words: string, weight: number) => {
      for (const [word] of words.toLowerCase().matchAll(WORD)) {
        const known = counts.get(word)
        if (known === undefined && counts.size >= MAX_WORDS) continue
        counts.set(word, (known ?? 0) + weight)
        length += weight
      }
    }
    count(title, TITLE)
    count(text, 1)
    const words = [...counts].map(([word, times]) => [this.#idOf(word), times] as const)
    words.sort(([a], [b]) => a - b)
    const page = {
      title,
      snippet: snippetOf(text),
      words: Uint32Array.from(words, ([id]) => id),
      counts: Uint16Array.from(words, ([, times]) => Math.min(times, 0xffff)),
      length,
      expiresAt,
    }
    const pages = this.#sites.get(site) ?? new Map<string, Stored>()
    this.#sites.set(site, pages)
    pages.set(path, page)
    this.#bytes += bytesOf(page, path)
    this.#use(site, path)
    while (this.#bytes > this.#maxBytes || this.#used.size > MAX_PAGES) {
      const [oldest] = this.#used.values()
      if (oldest === undefined) break
      this.delete(...oldest)
    }
  }

  delete(site: string, path: string): void {
    const pages = this.#sites.get(site)
    const page = pages?.get(path)
    if (!pages || !page) return
    pages.delete(path)
    if (pages.size === 0) this.#sites.delete(site)
    this.#used.delete(keyOf(site, path))
    this.#bytes -= bytesOf(page, path)
    for (const id of page.words) {
      const word = this.#words.get(id)!
      if (--word.pages > 0) continue
      this.#words.delete(id)
      this.#ids.delete(word.text)
      this.#bytes -= WORD_BYTES
    }
  }

  /** Removes pages of a zone: those at these URLs (host without port, and target), or all. */
  purge(zone: string, urls?: readonly string[]): void {
    this.purges++
    const purged = urls && new Set(urls)
    for (const [site, pages] of this.#sites) {
      if (!site.startsWith(`${zone} `)) continue
      const host = site.slice(zone.length + 1).replace(/:\d+$/, '')
      for (const path of pages.keys()) if (!purged || purged.has(host + path)) this.delete(site, path)
    }
  }

  /** Returns the pages of a site that have words of the query, the best first. */
  search(site: string, query: string, limit: number): Found[] {
    const pages = this.#sites.get(site)
    if (!pages) return []
    const now = this.#now()
    const ids = [...new Set([...query.toLowerCase().matchAll(WORD)].map(([word]) => word))]
      .slice(0, 32)
      .flatMap((word) => this.#ids.get(word) ?? [])
    const outdated: string[] = []
    let total = 0
    for (const [path, page] of pages) {
      if (page.expiresAt <= now) outdated.push(path)
      else total += page.length
    }
    for (const path of outdated) this.delete(site, path)
    const average = total / pages.size || 1
    const occurring = ids.map((id) => {
      let count = 0
      for (const page of pages.values()) if (timesOf(page, id) > 0) count++
      return { id, weight: Math.log(1 + (pages.size - count + 0.5) / (count + 0.5)) }
    })
    const scored: { path: string; page: Stored; score: number }[] = []
    for (const [path, page] of pages) {
      let score = 0
      for (const { id, weight } of occurring) {
        const times = timesOf(page, id)
        if (times > 0) score += (weight * times * (K1 + 1)) / (times + K1 * (1 - B + (B * page.length) / average))
      }
      if (score > 0) scored.push({ path, page, score })
    }
    scored.sort((a, b) => b.score - a.score || (a.path < b.path ? -1 : 1))
    return scored.slice(0, limit).map(({ path, page: { title, snippet } }) => {
      this.#use(site, path)
      return { path, title, snippet }
    })
  }

  #use(site: string, path: string): void {
    const key = keyOf(site, path)
    this.#used.delete(key)
    this.#used.set(key, [site, path])
  }

  #idOf(text: string): number {
    const known = this.#ids.get(text)
    if (known !== undefined) {
      this.#words.get(known)!.pages++
      return known
    }
    const id = this.#nextId++
    // A slice of the page would keep the whole page in memory.
    const copy = Buffer.from(text).toString()
    this.#ids.set(copy, id)
    this.#words.set(id, { text: copy, pages: 1 })
    this.#bytes += WORD_BYTES
    return id
  }
}

const keyOf = (site: string, path: string): string => `${site} ${path}`

const bytesOf = ({ words, title, snippet }: Stored, path: string): number =>
  PAGE_BYTES + 6 * words.length + 2 * (title.length + snippet.length + 2 * path.length)

/** Returns how often a page has a word. */
function timesOf({ words, counts }: Stored, id: number): number {
  let [from, to] = [0, words.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if (words[middle]! < id) from = middle + 1
    else to = middle
  }
  return words[from] === id ? counts[from]! : 0
}

/** Returns the beginning of a text without its frontmatter, headings and markup. */
function snippetOf(text: string): string {
  const plain = text
    .slice(0, 8 * SNIPPET)
    .replace(/^---\n[^]*?\n---\n/, '')
    .replaceAll(/^(?:#{1,6} .*|>.*|[-*_]{3,})$/gm, '')
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[*_`|]+/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
  return Buffer.from(plain.slice(0, SNIPPET)).toString()
}
