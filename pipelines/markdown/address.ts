import { trimControls } from './characters.js'

/** The addresses of a page: as they are written, or as its `<base>` says. */
export class Addresses {
  #base: URL | undefined
  /** The base has no host, so what is resolved against it has none either. */
  #hostless = false

  /** Only a page's first `<base href>` counts. WHATWG HTML, 4.2.3. */
  set base(href: string) {
    if (this.#base !== undefined) return
    this.#hostless = !URL.canParse(href)
    this.#base = this.#hostless ? parse(href, NOWHERE) : new URL(href)
  }

  /** An address without the white space that browsers take out of it. */
  resolve(href: string): string {
    // oxlint-disable-next-line no-control-regex
    const url = /[\x00-\x20]/.test(href) ? trimControls(href).replace(/[\t\n\r]/g, '') : href
    if (this.#base === undefined) return url
    const resolved = parse(url, this.#base)
    if (resolved === undefined) return url
    return this.#hostless && resolved.origin === NOWHERE ? resolved.href.slice(NOWHERE.length) : resolved.href
  }
}

const NOWHERE = 'http://nowhere.invalid'

const parse = (url: string, base: string | URL): URL | undefined =>
  URL.canParse(url, String(base)) ? new URL(url, base) : undefined

/** Whether a link to it leads anywhere outside of a browser. */
export function isReachable(url: string): boolean {
  const first = url.charCodeAt(0)
  // Most addresses are paths, fragments or begin with `http`.
  if (first === 0x2f || first === 0x23 || first === 0x68) return true
  return !/^(?:javascript|vbscript|data|about|blob):/i.test(url)
}
