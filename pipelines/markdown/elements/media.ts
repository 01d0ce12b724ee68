import { isReachable } from '../text/address.js'
import { collapse, holds, lengthOf } from '../text/characters.js'
import { destination, escapeInline } from '../output/escape.js'
import type { Skip, Tag } from '../text/events.js'
import { CONTAINERS, type Aside, type ElementPage, type Family } from './element.js'
import { imageSource, isImage } from './late-images.js'
import { writeTex } from './tex.js'

export const images: Family = {
  names: ['img', 'image', 'amp-img', 'amp-anim'],
  open(page, tag) {
    const skip = tag.name.startsWith('amp-') ? 'skip' : undefined
    if (isPixel(tag)) return skip
    const alt = collapse(tag.attribute('alt') ?? tag.attribute('data-alt') ?? '').trim()
    const src = tag.attribute('src')
    const plain = tag.valueIsPlain
    const source = imageSource(tag, src, page.picture)
    const tex = source === undefined ? '' : texOfImage(tag, source, alt)
    if (tex !== '') {
      // MediaWiki writes a formula for browsers with MathML and for others.
      if (page.formula !== tex) writeTex(page, tex)
      page.formula = undefined
      return skip
    }
    const text = descriptionOf(alt)
    page.missingImage = source === undefined ? text : undefined
    if (source === undefined) return skip
    writeImage(page, text, source, tag.attribute('title'), plain && source === src)
    return skip
  },
}

/** Writes an image. `text` is its description in Markdown. A `plain` source needs no escapes. */
function writeImage(page: ElementPage, text: string, source: string, title?: string, plain = false): void {
  const url = page.addresses.resolve(source, plain)
  page.line.markdown(`![${text}${destination(url, title, plain && url === source)}`)
}

const descriptionOf = (alt: string): string =>
  escapeInline(alt, { before: 'mark', spaceAfter: false, inLink: true, inStrike: false })

/** Classes of images of formulas, whose alternative text is TeX: MediaWiki, WordPress. */
const OF_FORMULA = /(?:^|\s)(?:mwe-math-fallback-image-\w+|tex|latex|math (?:inline|display))(?:\s|$)/

/** A command of TeX that no description of an image has. */
const TEX_COMMAND =
  /\\(?:(?:begin|[dt]?frac|operatorname\*?|sqrt|math(?:rm|bb|bf|cal)|text|overline|hat|vec)\s*[{[]|(?:sum|int|prod|lim)\s*[_^]|left\s*[([{|.\\])/

/** Addresses of services that draw the TeX in their query. */
const DRAWS_TEX =
  /(?:\/latex\.php|\/(?:latex|tex|mathtex|mimetex)(?:\.cgi|\.latex)?|\/(?:png|gif|svg)\.(?:latex|image)|\/chart)$/i

/** Maximum characters of an address that has TeX in its query. */
const MAX_DRAWN = 4096

/** Returns the query of the address of a service that draws TeX. */
function drawnQuery(source: string): string | undefined {
  const length = lengthOf(source)
  const at = length > MAX_DRAWN ? -1 : source.indexOf('?')
  if (at < 0 || !DRAWS_TEX.test(source.slice(0, at))) return undefined
  const query = source.slice(at + 1)
  const named = /(?:^|&)(?:latex|chl|tex)=([^&]*)/.exec(query)?.[1]
  if (/\/chart$/i.test(source.slice(0, at)) && !/(?:^|&)cht=tx(?:&|$)/.test(query)) return undefined
  return named ?? query
}

/** Returns the TeX of an image of a formula, or ''. */
function texOfImage(tag: Tag, source: string, alt: string): string {
  const isFormula = OF_FORMULA.test(tag.attribute('class') ?? '') || (holds(alt, '\\') && TEX_COMMAND.test(alt))
  const drawn = isFormula && alt !== '' ? undefined : drawnQuery(source)
  if (drawn === undefined && (!isFormula || alt === '')) return ''
  const tex = alt === '' || alt === 'equation' ? (tag.attribute('title') ?? queryTex(drawn ?? '')) : alt
  return tex.replace(/^\s*\\(?:displaystyle|textstyle)\b/, '').trim()
}

function queryTex(query: string): string {
  try {
    return decodeURIComponent(query.replaceAll('+', ' '))
  } catch {
    return ''
  }
}

export const pictures: Family = {
  names: ['picture'],
  open(page, tag) {
    page.picture = undefined
    // The script lozad adds the image to it.
    const late = tag.attribute('data-iesrc')
    if (!isImage(late)) return undefined
    writeImage(page, descriptionOf(collapse(tag.attribute('data-alt') ?? '').trim()), late)
    return 'skip'
  },
  close(page) {
    page.picture = undefined
  },
}

/** A source belongs to the video or audio around it, otherwise to a picture. */
export const sources: Family = {
  names: ['source'],
  open(page, tag) {
    const src = tag.attribute('src') ?? tag.attribute('data-src')
    if (page.aside instanceof Player) page.aside.src ||= src
    else page.picture ??= tag.attribute('srcset') ?? tag.attribute('data-srcset') ?? src
  },
}

const LABELS: Readonly<Record<string, string>> = {
  audio: 'Audio',
  'amp-audio': 'Audio',
  video: 'Video',
  'amp-video': 'Video',
}

export const players: Family = {
  names: ['audio', 'video', 'amp-audio', 'amp-video'],
  open(page, tag) {
    const { name } = tag
    const label = tag.attribute('title') ?? tag.attribute('aria-label') ?? LABELS[name] ?? name
    const src = tag.attribute('src') || tag.attribute('data-src')
    if (src) {
      embed(page, label, src)
      return 'skip'
    }
    page.endAside()
    page.aside = new Player(name, label)
    return undefined
  },
}

const MEDIA_FILE = /\.(?:mp4|m4v|webm|og[vga]|mov|mp3|m4a|wav|flac|opus|aac)(?:[?#]|$)/i
/** Elements inside a player whose contents are read. They may have a source or a link to one. */
const READ = new Set(['source', 'track', 'a', 'p', 'div', 'span'])

/** A video or audio whose source was not read yet. Its contents are for browsers that cannot play it. */
class Player implements Aside {
  src: string | undefined
  readonly #name: string
  readonly #label: string

  constructor(name: string, label: string) {
    this.#name = name
    this.#label = label
  }

  text(): void {}

  /** Reads the link to the file that most pages have for browsers that cannot play it. */
  enter(tag: Tag): Skip | void {
    if (!READ.has(tag.name)) return 'skip'
    if (tag.name !== 'a') return
    const href = tag.attribute('href')
    if (href !== undefined && MEDIA_FILE.test(href)) this.src ||= href
    return 'skip'
  }

  endsAt(name: string): boolean {
    return name === this.#name || (CONTAINERS.has(name) && name !== 'p')
  }

  end(page: ElementPage): void {
    if (this.src) embed(page, this.#label, this.src)
  }
}

/**
 * Returns whether an image is one pixel in size. Such images count visits or add space. An image with a `srcset` is
 * enlarged by its style.
 */
const isPixel = (tag: Tag) =>
  tag.attribute('srcset') === undefined && isOnePixel(tag, 'width', ONE_WIDE) && isOnePixel(tag, 'height', ONE_HIGH)

/** Properties of a style that make an element at most one pixel wide or high. `max-width` is not included. */
const ONE_WIDE = /(?:^|[;\s])width\s*:\s*[01](?:px)?\s*(?:!important\s*)?(?:;|$)/i
const ONE_HIGH = /(?:^|[;\s])height\s*:\s*[01](?:px)?\s*(?:!important\s*)?(?:;|$)/i

/** Returns whether an attribute gives a size of at most one pixel, or the style if the attribute is missing. */
function isOnePixel(tag: Tag, name: string, inStyle: RegExp): boolean {
  const size = tag.attribute(name)
  if (size !== undefined) return lengthOf(size) <= '1px'.length && /^[01](?:px)?$/.test(size)
  const style = tag.attribute('style')
  return style !== undefined && inStyle.test(style)
}

/** Writes a link to an embedded object. */
export function embed(page: ElementPage, label: string, src: string): void {
  const url = page.addresses.resolve(src)
  if (url === '' || !isReachable(url)) return
  page.line.space()
  page.line.openLink('a', { url, plain: false, title: undefined, name: undefined })
  page.line.text(label)
  page.line.close('a')
  page.line.space()
}
