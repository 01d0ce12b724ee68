import { isReachable } from '../address.js'
import type { Tag } from '../events.js'
import { attributeBit } from '../names.js'
import { words } from './element.js'

/** Attributes in which scripts that load images lazily store the address. */
const LATE = words(
  `data-src data-lazy data-original data-lazy-src data-original-src data-hi-res-src data-orig-src data-cfsrc`,
)
const LATE_SETS = ['data-srcset', 'data-lazy-srcset']
const LATE_BITS = [...LATE, ...LATE_SETS]
  .map((name) => attributeBit(name.charCodeAt(0), name.length))
  .reduce((bits, bit) => bits | bit)

/** The same for less common scripts. On some pages these have other meanings, so their value must be a file of an image. */
const PERHAPS_LATE = words(`data-url data-image data-echo data-lazyload data-lazy-load data-lazysrc data-lazy-original
  data-actualsrc data-imgsrc data-img-src data-image-src data-delayed-url data-opt-src data-ezsrc data-runner-src
  data-wpfc-original-src data-pagespeed-lazy-src nitro-lazy-src data-file file zoomfile`)

/** Small or blurred images that a page shows until the real one is loaded. */
const PLACEHOLDER =
  /[?&;,/_-](?:blur|lqip)(?![a-z])|(?:placeholder|spacer|blank|transparent|lazy|loading|pixel|1x1)[^/]*\.(?:gif|png|svg|jpe?g|webp)(?:[?#]|$)|(?:^|\/)(?:gr[ae]y|none|empty|loader|clear|dot|trans|px)\.(?:gif|png)(?:[?#]|$)/i

/** Classes of images whose `src` is shown until the real one is loaded. */
const IS_LATE = /(?:^|\s)(?:(?:b-)?lazy|lozad|blur-?up|unveil)/i

const IMAGE_FILE = /^\s*[^\s{}]{1,2000}\.(?:jpe?g|png|webp|avif|gif)(?:[?#][^\s{}]*)?\s*$/i

/** Returns the address of an image, including one that a script would load lazily. `picture`: the sources around it. */
export function imageSource(tag: Tag, picture: string | undefined): string | undefined {
  const src = tag.attribute('src')
  const isUsable = isImage(src) && !PLACEHOLDER.test(src)
  const isLate = (tag.attributeBits & LATE_BITS) !== 0 && IS_LATE.test(tag.attribute('class') ?? '')
  if (isUsable && !isLate) return src
  const late = LATE.map((name) => tag.attribute(name)).find((url) => isImage(url) && !url.includes('{'))
  if (late !== undefined) return late
  const set = largestIn(LATE_SETS.map((name) => tag.attribute(name)))
  if (set !== undefined || isUsable) return set ?? src
  return (
    largestIn([tag.attribute('srcset'), picture]) ??
    PERHAPS_LATE.map((name) => tag.attribute(name)).find((url) => isImage(url) && IMAGE_FILE.test(url)) ??
    (isImage(src) ? src : undefined)
  )
}

const isImage = (url: string | undefined): url is string =>
  url !== undefined && /\S/.test(url) && isReachable(url.trim())

function largestIn(sets: readonly (string | undefined)[]): string | undefined {
  for (const set of sets) {
    const best = set === undefined ? undefined : largest(set)
    if (isImage(best)) return best
  }
  return undefined
}

/** Returns the image of a `srcset` with the highest density or the greatest width. WHATWG HTML, 4.8.4.2.1. */
function largest(set: string): string | undefined {
  let best: string | undefined
  let largestSize = -1
  for (const [, url, size] of set.matchAll(/([^\s,]\S*[^\s,]|[^\s,])(?:\s+([\d.]+)[wx])?\s*(?:,|$)/g)) {
    const value = size === undefined ? 1 : Number(size)
    if (value > largestSize) {
      largestSize = value
      best = url
    }
  }
  return best
}

/** An image in Markdown, with its description and its address. */
const IMAGE = /^!\[((?:[^\]\\]|\\.)*)\]\((\S+)(?: "[^\n]*")?\)$/

/**
 * Returns whether the contents of a `noscript` are the image that a script would load in place of one without an address.
 * `description`: what that one has in Markdown. An image without a description may be decoration, or count visits.
 */
export function isTwin(markdown: string, description: string, inFigure: boolean): boolean {
  const [, text, url = ''] = IMAGE.exec(markdown) ?? []
  if (text === undefined || (description !== '' && text !== description)) return false
  return text !== '' || (inFigure && /\.(?:jpe?g|png|webp|avif)|\/_next\/image\?/i.test(url))
}
