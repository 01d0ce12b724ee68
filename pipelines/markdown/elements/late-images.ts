import { attributeBits } from '../text/names.js'
import { isReachable } from '../text/address.js'
import { codeAt, isSpace, part, searchIn } from '../text/characters.js'
import type { Tag } from '../text/events.js'
import { words } from './element.js'

const COMMA = 0x2c

/** Attributes in which scripts that load images lazily store the address. */
const LATE = words(
  `data-src data-lazy data-original data-lazy-src data-original-src data-hi-res-src data-orig-src data-cfsrc`,
)
const LATE_SETS = ['data-srcset', 'data-lazy-srcset']
const LATE_BITS = attributeBits(...LATE, ...LATE_SETS)

/** Attributes of less common scripts. On some pages they have other meanings, so their value must be an image file. */
const PERHAPS_LATE = words(`data-url data-image data-echo data-lazyload data-lazy-load data-lazysrc data-lazy-original
  data-actualsrc data-imgsrc data-img-src data-image-src data-delayed-url data-opt-src data-ezsrc data-runner-src
  data-wpfc-original-src data-pagespeed-lazy-src nitro-lazy-src data-file file zoomfile`)

/** Addresses of small or blurred images that a page shows until the real one is loaded, and names of their files. */
const BLURRED = /[?&;,/_-](?:blur|lqip)(?![a-z])/i
const PLACEHOLDER =
  /placeholder|spacer|blank|transparent|lazy|loading|pixel|1x1|^(?:gr[ae]y|none|empty|loader|clear|dot|trans|px)\./i

/** Previews of Medium. The page has the image itself after the preview. */
const PREVIEW = /\/max\/\d\d\/[^/?]+\?q=20$/

const isPreview = (url: string): boolean => url.endsWith('?q=20') && PREVIEW.test(url)

function isPlaceholder(url: string): boolean {
  if (BLURRED.test(url) || isPreview(url)) return true
  // Each part is searched once. One pattern for the whole address would take quadratic time.
  const end = searchIn(url, /[?#]/)
  const path = end < 0 ? url : part(url, 0, end)
  const name = path.slice(path.lastIndexOf('/') + 1)
  return /\.(?:gif|png|svg|jpe?g|webp)$/i.test(name) && PLACEHOLDER.test(name)
}

/** Classes of images whose `src` is shown until the real one is loaded. */
const IS_LATE = /(?:^|\s)(?:(?:b-)?lazy|lozad|blur-?up|unveil)/i

const IMAGE_FILE = /^\s*[^\s{}]{1,2000}\.(?:jpe?g|png|webp|avif|gif)(?:[?#][^\s{}]*)?\s*$/i

/**
 * Returns the address of an image with this `src`, including one that a script would load lazily. `picture` is the
 * address from the sources around the image.
 */
export function imageSource(tag: Tag, src: string | undefined, picture: string | undefined): string | undefined {
  const isUsable = isImage(src) && !isPlaceholder(src)
  const isLate = (tag.attributeBits & LATE_BITS) !== 0 && IS_LATE.test(tag.attribute('class') ?? '')
  if (isUsable && !isLate) return src
  for (const name of LATE) {
    const url = tag.attribute(name)
    if (isImage(url) && !url.includes('{')) return url
  }
  const set = largestIn(tag, LATE_SETS)
  if (set !== undefined || isUsable) return set ?? src
  return (
    largestIn(tag, ['srcset']) ??
    (picture === undefined ? undefined : imageIn(picture)) ??
    perhapsLate(tag) ??
    (isImage(src) && !isPreview(src) ? src : undefined)
  )
}

function perhapsLate(tag: Tag): string | undefined {
  for (const name of PERHAPS_LATE) {
    const url = tag.attribute(name)
    if (isImage(url) && IMAGE_FILE.test(url)) return url
  }
  return undefined
}

export const isImage = (url: string | undefined): url is string =>
  url !== undefined && /\S/.test(url) && isReachable(url.trim())

function largestIn(tag: Tag, names: readonly string[]): string | undefined {
  for (const name of names) {
    const set = tag.attribute(name)
    const best = set === undefined ? undefined : imageIn(set)
    if (best !== undefined) return best
  }
  return undefined
}

function imageIn(set: string): string | undefined {
  const best = largest(set)
  return isImage(best) ? best : undefined
}

/** Returns the image of a `srcset` with the highest density or the greatest width. WHATWG HTML, 4.8.4.2.1. */
function largest(set: string): string | undefined {
  const { length } = set
  let best: string | undefined
  let largestSize = -1
  for (let at = 0; at < length;) {
    while (at < length && (isSpace(codeAt(set, at)) || codeAt(set, at) === COMMA)) at++
    const start = at
    while (at < length && !isSpace(codeAt(set, at))) at++
    let end = at
    while (end > start && codeAt(set, end - 1) === COMMA) end--
    if (end === start) break
    const comma = end < at ? at : set.indexOf(',', at)
    const next = comma < 0 ? length : comma
    const size = sizeOf(set.slice(at, next))
    if (size > largestSize) {
      largestSize = size
      best = set.slice(start, end)
    }
    at = next
  }
  return best
}

/** Returns the number of a descriptor such as `2x` or `300w`: 1 if it is missing, -1 if it is malformed. */
function sizeOf(descriptor: string): number {
  const text = descriptor.slice(0, 100).trim()
  const size = /^([\d.]+)[wx](?:\s|$)/.exec(text)?.[1]
  return text === '' ? 1 : size === undefined ? -1 : Number(size)
}

/** An image in Markdown, with its description and its address. */
const IMAGE = /^!\[((?:[^\]\\]|\\.)*)\]\((\S+)(?: "[^\n]*")?\)$/

/**
 * Returns whether the contents of a `noscript` are the image that a script would load in place of an image without an
 * address. `description` is the Markdown description of that image. An image without a description may be decoration,
 * or count visits.
 */
export function isTwin(markdown: string, description: string, inFigure: boolean): boolean {
  const [, text, url = ''] = IMAGE.exec(markdown) ?? []
  if (text === undefined || (description !== '' && text !== description)) return false
  return text !== '' || (inFigure && /\.(?:jpe?g|png|webp|avif)|\/_next\/image\?/i.test(url))
}
