import { codeAt, lengthOf, trimControls } from './characters.js'

/** Maximum length of a base. A longer one is ignored. */
const MAX_BASE = 2048

/** Maximum characters that resolving adds to the addresses of a page. Further ones remain as they are written. */
const MAX_ADDED = 16 * 1024 * 1024

/**
 * Maximum length of a linked address. Longer ones are dropped, because servers reject them and escaping megabytes takes
 * long.
 */
const MAX_ADDRESS = 128 * 1024

/** Addresses of a page, as written or resolved against its `<base>`. */
export class Addresses {
  #base: URL | undefined
  #hasBase = false
  /** The base has no host, so addresses resolved against it have no host either. */
  #hostless = false
  #added = 0

  /** The address of the page. With it, all addresses become absolute. */
  set page(address: string) {
    this.#base = new URL(address)
  }

  /** Returns whether an address, as written, is a place on the page. */
  isOnPage(href: string): boolean {
    return href.startsWith('#') && !this.#hasBase
  }

  /** Only a page's first `<base href>` counts. WHATWG HTML, 4.2.3. */
  set base(href: string) {
    if (this.#hasBase || href.length > MAX_BASE) return
    if (this.#base !== undefined) {
      this.#hasBase = true
      this.#base = parse(href, this.#base) ?? this.#base
      return
    }
    this.#hostless = !URL.canParse(href)
    this.#base = this.#hostless ? parse(href, NOWHERE) : new URL(href)
    this.#hasBase = this.#base !== undefined
  }

  /** Returns an address without the white space that browsers remove. With `plain` it is known to have none. */
  resolve(href: string, plain = false): string {
    // oxlint-disable-next-line no-control-regex
    const url = !plain && /[\x00-\x20]/.test(href) ? trimControls(href).replace(/[\t\n\r]/g, '') : href
    if (this.#base === undefined || this.#added > MAX_ADDED) return url
    const resolved = parse(url, this.#base)
    if (resolved === undefined) return url
    this.#added += Math.max(0, resolved.href.length - url.length)
    return this.#hostless && resolved.origin === NOWHERE ? resolved.href.slice(NOWHERE.length) : resolved.href
  }
}

const NOWHERE = 'http://nowhere.invalid'

const parse = (url: string, base: string | URL): URL | undefined =>
  URL.canParse(url, String(base)) ? new URL(url, base) : undefined

/** Returns whether a link to it leads anywhere outside of a browser. */
export function isReachable(url: string): boolean {
  if (lengthOf(url) > MAX_ADDRESS) return false
  // Most addresses begin with none of these.
  switch (url === '' ? 0 : codeAt(url, 0) | 0x20) {
    case 0x61: // a
    case 0x62: // b
    case 0x64: // d
    case 0x6a: // j
    case 0x76: // v
      return !/^(?:javascript|vbscript|data|about|blob):/i.test(url)
    default:
      return true
  }
}
