import type { Entry } from './entry.js'

/** Maximum names in the purges of one zone that entries are compared with. */
const MAX_NAMES = 50_000

/** The selection of entries that one purge removes from a zone. */
export interface Purge {
  readonly everything?: boolean
  /** Host without port, and target: `example.com/path?query`. */
  readonly urls?: readonly string[]
  /** In lower case. */
  readonly tags?: readonly string[]
  readonly hosts?: readonly string[]
  /** Host and path. A path is covered up to a separator. */
  readonly prefixes?: readonly string[]
}

/** Purges of one zone that entries are compared with, by the number of each. */
class ZonePurges {
  everything = 0
  last = 0
  readonly urls = new Map<string, number>()
  readonly tags = new Map<string, number>()
  readonly hosts = new Map<string, number>()
  readonly prefixes = new Map<string, number>()

  get size(): number {
    return this.urls.size + this.tags.size + this.hosts.size + this.prefixes.size
  }

  add({ everything, urls, tags, hosts, prefixes }: Purge, number: number): void {
    this.last = number
    if (everything) this.everything = number
    for (const url of urls ?? []) this.urls.set(url, number)
    for (const tag of tags ?? []) this.tags.set(tag, number)
    for (const host of hosts ?? []) this.hosts.set(host, number)
    for (const prefix of prefixes ?? []) this.prefixes.set(prefix, number)
  }

  covers({ born, url, tags }: Pick<Entry, 'born' | 'url' | 'tags'>): boolean {
    if (this.everything > born || (this.urls.get(url) ?? 0) > born) return true
    if (this.tags.size > 0) for (const tag of tags) if ((this.tags.get(tag) ?? 0) > born) return true
    if (this.hosts.size > 0 && (this.hosts.get(hostOf(url)) ?? 0) > born) return true
    if (this.prefixes.size === 0) return false
    const query = url.indexOf('?')
    const path = query < 0 ? url : url.slice(0, query)
    for (let end = path.indexOf('/'); end >= 0; end = path.indexOf('/', end + 1)) {
      // With and without the separator, as it was written.
      if (
        (this.prefixes.get(path.slice(0, end)) ?? 0) > born ||
        (this.prefixes.get(path.slice(0, end + 1)) ?? 0) > born
      )
        return true
    }
    return (this.prefixes.get(path) ?? 0) > born
  }

  forget(upTo: number): void {
    for (const map of [this.urls, this.tags, this.hosts, this.prefixes])
      for (const [key, number] of map) if (number <= upTo) map.delete(key)
  }
}

const hostOf = (url: string): string => {
  const slash = url.indexOf('/')
  return slash < 0 ? url : url.slice(0, slash)
}

/**
 * Purges in the order of their arrival. Nothing is searched when a purge arrives. An entry is compared with newer
 * purges when it is used, and a sweep removes the other purged entries later.
 */
export class Purges {
  /** Number of the last purge. */
  number = 0
  readonly #zones = new Map<string, ZonePurges>()

  /** Applies to all entries of a zone whose fetch began before. */
  add(zone: string, purge: Purge, number = this.number + 1): void {
    this.number = Math.max(this.number, number)
    const purges = this.#zones.get(zone) ?? new ZonePurges()
    this.#zones.set(zone, purges)
    purges.add(purge, number)
    // Removing too much is safe.
    if (purges.size > MAX_NAMES) {
      purges.add({ everything: true }, number)
      purges.forget(number)
    }
  }

  /** Returns whether a purge removed the entry. */
  covers(entry: Pick<Entry, 'zone' | 'url' | 'tags' | 'born' | 'checked'>): boolean {
    if (entry.checked === this.number) return false
    const purges = this.#zones.get(entry.zone)
    if (purges && purges.last > entry.checked && purges.covers(entry)) return true
    entry.checked = this.number
    return false
  }

  /**
   * Returns whether a purge removed the response that a fetch is for. `tags` is undefined before the head of the
   * response, and then every purge of tags counts.
   */
  coversFetch({
    zone,
    tags,
    ...facts
  }: Pick<Entry, 'zone' | 'url' | 'born'> & { tags: Entry['tags'] | undefined }): boolean {
    if (facts.born === this.number) return false
    const purges = this.#zones.get(zone)
    if (!purges || purges.last <= facts.born) return false
    return purges.covers({ ...facts, tags: tags ?? [...purges.tags.keys()] })
  }

  /** Purges that a sweep would forget. */
  get pending(): number {
    let sum = 0
    for (const purges of this.#zones.values()) sum += purges.size
    return sum
  }

  /** Forgets purges up to a number, after no older entry is left. */
  forget(upTo: number): void {
    for (const purges of this.#zones.values()) purges.forget(upTo)
  }
}
