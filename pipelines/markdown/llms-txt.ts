import { CharsetDecoder } from './html/charset.js'
import { charsetOf } from './convert.js'
import { escapeInline, destination } from './output/escape.js'
import type { Events, Skip, Tag, Tokenizer } from './text/events.js'
import { HtmlTokenizer } from './html/tokenizer.js'
import { XhtmlTokenizer } from './html/xhtml.js'

/** Maximum number of listed pages, and maximum characters of a name and an address. */
const MAX_PAGES = 5000
const MAX_NAME = 200
const MAX_ADDRESS = 2000
/** Characters of one list. Many agents read no more than 50,000 of a file. */
const MAX_LIST = 45_000

export interface LlmsTxtOptions {
  /** Content-Type header of the page or the sitemap. */
  readonly contentType: string
  /** The host of the site, with its port. Only its pages are listed. */
  readonly host: string
  /** Returns the address that is listed for a page, path and query. Default is the page's own address. */
  readonly address?: ((path: string) => string) | undefined
  /** Scheme and host of the site, which addresses then begin with. */
  readonly site?: string | undefined
  /** Which list of a site with many pages is created, from 1. */
  readonly part?: number | undefined
}

/** Returns the address of a list. The first one names the others. */
const listAddress = (part: number): string => (part === 1 ? '/llms.txt' : `/llms-${part}.txt`)

type Reads = 'title' | 'heading' | 'a' | 'loc'

/** Files that are no pages. */
const OTHER_FILE = /\.(?:xml|xml\.gz|css|js|png|jpe?g|gif|svg|webp|ico)$/i

interface Section {
  readonly title: string
  readonly lines: string[]
}

/** Creates an `llms.txt` from the links of a front page, or from a sitemap (`<loc>` in XML). Same interface as `Converter`. */
export class LlmsTxt implements Events {
  readonly #options: LlmsTxtOptions
  readonly #decoder: CharsetDecoder
  readonly #tokenizer: Tokenizer
  readonly #seen = new Set<string>()
  readonly #sections: Section[] = [{ title: 'Pages', lines: [] }]
  #title = ''
  #description = ''
  /** The element whose text is read, and that text. */
  #reads: Reads | undefined
  #text = ''
  #href: string | undefined
  /** Text of the last heading, which names the section that the next link begins. */
  #heading = ''
  /** Base of relative addresses. */
  #base: string
  /** The sitemap lists sitemaps instead of pages. */
  #isIndex = false

  constructor(options: LlmsTxtOptions) {
    this.#options = options
    this.#base = `http://${options.host}/`
    const [type = '', ...parameters] = options.contentType.split(';')
    const xml = type.trim().toLowerCase() !== 'text/html'
    this.#decoder = new CharsetDecoder({ charset: charsetOf(parameters), xml })
    this.#tokenizer = xml ? new XhtmlTokenizer(this) : new HtmlTokenizer(this)
  }

  /** Reads the next bytes. Nothing is final before the end. Throws NotConvertible. */
  write(bytes: Uint8Array): string {
    const text = this.#decoder.write(bytes)
    if (text !== '') this.#tokenizer.write(text)
    return ''
  }

  end(): string {
    const text = this.#decoder.end()
    if (text !== '') this.#tokenizer.write(text)
    this.#tokenizer.end()
    this.#endLink()
    const { host, site, part = 1 } = this.#options
    const lists = listsOf(this.#sections)
    const title = plain(this.#title) || host
    const blocks = [`# ${title}${part === 1 ? '' : `, part ${part}`}`]
    if (this.#description !== '') blocks.push(`> ${plain(this.#description)}`)
    else if (site !== undefined) blocks.push(`> The pages of ${host}.`)
    for (const { title: heading, lines } of lists[part - 1] ?? [])
      if (lines.length > 0) blocks.push(`## ${plain(heading)}`, lines.join('\n'))
    if (part === 1 && lists.length > 1) {
      const others = lists.slice(1).map((_, index) => index + 2)
      const links = others.map((other) => `- [${title}, part ${other}](${site ?? ''}${listAddress(other)})`)
      blocks.push('## More pages', links.join('\n'))
    }
    return blocks.join('\n\n') + '\n'
  }

  open(tag: Tag): Skip | void {
    switch (tag.name) {
      case 'script':
      case 'style':
      case 'svg':
      case 'template':
        return 'skip'
      case 'title':
        if (this.#title === '') this.#read('title')
        break
      case 'meta':
        if (/^(?:og:)?description$/i.test(tag.attribute('name') ?? tag.attribute('property') ?? ''))
          this.#description ||= short(tag.attribute('content') ?? '')
        break
      case 'h2':
      case 'h3':
        this.#endLink()
        this.#read('heading')
        break
      case 'a':
        this.#endLink()
        this.#href = tag.attribute('href')
        if (this.#reads !== 'heading') this.#read('a')
        break
      case 'img':
        if (this.#href !== undefined) this.#add(` ${tag.attribute('alt') ?? ''} `)
        break
      case 'base':
        this.#base = baseOf(tag.attribute('href') ?? '', this.#base)
        break
      case 'sitemapindex':
        this.#isIndex = true
        this.#heading = 'Sitemaps'
        break
      case 'loc':
        this.#read('loc')
        break
    }
    return undefined
  }

  close(name: string): void {
    switch (name) {
      case 'title':
        if (this.#reads === 'title') this.#title = short(this.#text)
        break
      case 'h2':
      case 'h3':
        if (this.#reads !== 'heading') return
        this.#heading = short(this.#text)
        if (this.#href !== undefined) this.#list(this.#href, this.#heading)
        this.#href = undefined
        break
      case 'a':
        if (this.#reads === 'heading') return
        this.#endLink()
        break
      case 'loc':
        this.#list(this.#text.trim(), '')
        break
      default:
        this.#add(' ')
        return
    }
    this.#reads = undefined
  }

  text(text: string): void {
    if (this.#reads !== undefined) this.#add(text)
  }

  #read(reads: Reads): void {
    this.#reads = reads
    this.#text = ''
  }

  #add(text: string): void {
    if (this.#reads !== undefined && this.#text.length < MAX_ADDRESS) this.#text += text
  }

  #endLink(): void {
    if (this.#reads === 'a' && this.#href !== undefined) this.#list(this.#href, short(this.#text))
    if (this.#reads !== 'heading') this.#href = undefined
    if (this.#reads === 'a') this.#reads = undefined
  }

  /** Lists a page of this site, once. */
  #list(href: string, name: string): void {
    const { host, address, site = '' } = this.#options
    const here = this.#base
    if (this.#seen.size >= MAX_PAGES || href.length > MAX_ADDRESS || !URL.canParse(href, here)) return
    const url = new URL(href, here)
    if (!/^https?:$/.test(url.protocol) || url.host !== new URL(`http://${host}/`).host) return
    const path = url.pathname + url.search
    if (path === '/' || this.#seen.has(path) || (!this.#isIndex && OTHER_FILE.test(url.pathname))) return
    this.#seen.add(path)
    if (this.#heading !== '') this.#sections.push({ title: this.#heading, lines: [] })
    this.#heading = ''
    const label = plain(name || decoded(url.pathname).replace(/^\/|\/$/g, ''), true)
    this.#sections
      .at(-1)
      ?.lines.push(`- [${label}${destination(site + (this.#isIndex ? path : (address?.(path) ?? path)))}`)
  }
}

/** Distributes sections to lists that are not too long. */
function listsOf(sections: readonly Section[]): Section[][] {
  const lists: Section[][] = [[]]
  let length = 0
  for (const { title, lines } of sections) {
    lists.at(-1)!.push({ title, lines: [] })
    for (const line of lines) {
      if (length + line.length > MAX_LIST && length > 0) {
        lists.push([{ title, lines: [] }])
        length = 0
      }
      lists.at(-1)!.at(-1)!.lines.push(line)
      length += line.length + 1
    }
  }
  return lists
}

const baseOf = (href: string, base: string): string => (URL.canParse(href, base) ? new URL(href, base).href : base)

const short = (text: string): string => text.replace(/\s+/g, ' ').trim().slice(0, MAX_NAME)

const plain = (text: string, inLink = false): string =>
  escapeInline(short(text), { before: 'space', spaceAfter: true, inLink, inStrike: false })

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
