import { attributeBits } from '../text/names.js'
import { collapse } from '../text/characters.js'
import type { Tag } from '../text/events.js'
import { CONTAINERS, words, type Aside, type Family } from './element.js'
import { holdsSegment } from './segments.js'
import { texAttribute } from './tex.js'

/** Elements that are never content. */
export const DROPPED: ReadonlySet<string> = new Set(
  words(`style title nav footer dialog svg canvas object applet embed noembed noframes frameset
    select textarea datalist progress meter map rp area`),
)

const AMPERSAND = 0x26
const LETTER_H = 0x68
const LETTER_I = 0x69
const LETTER_N = 0x6e
const LETTER_O = 0x6f

const ROLES = new Set(words('banner contentinfo navigation search dialog alertdialog'))

export const dropped: Family = { names: [...DROPPED].filter((name) => name !== 'svg'), open: () => 'skip' }

/** Drawings are written by their name. A drawing in a cell is often its only content, such as a check mark. */
export const drawings: Family = {
  names: ['svg'],
  open({ line, table }, tag) {
    const name = table?.inCell === true ? collapse(tag.attribute('aria-label') ?? '').trim() : ''
    if (name !== '') {
      line.space()
      line.text(name)
      line.space()
    }
    return 'skip'
  },
}

/**
 * Drops the header of the page. The header of an article or a section usually has its title, and is not a banner in
 * HTML-AAM.
 */
export const header: Family = {
  names: ['header'],
  open(page) {
    if (page.sections === 0) return 'skip'
    return page.boundary()
  },
  close: (page) => page.boundary(),
}

/** Names of buttons that unfold a part of the page, whose title they are. */
const UNFOLDS = /accordion|collaps|faq|question/i

/** Some pages wrap the text of a heading, of a link or the image of a figure in a button. A tab names its panel. */
export const button: Family = {
  names: ['button'],
  open(page, tag) {
    if (page.heading > 0 || page.kind === 'term' || page.line.inLink || page.table?.inHeader === true) return undefined
    if (unfolds(tag) || tag.attribute('role') === 'tab') return page.boundary()
    if (page.figures === 0) return 'skip'
    page.endAside()
    page.aside = new ImagesOnly()
    return undefined
  },
}

function unfolds(tag: Tag): boolean {
  if (tag.attribute('aria-expanded') === undefined) return false
  const names = ['class', 'id', 'aria-controls'].map((name) => tag.attribute(name)).join(' ')
  return UNFOLDS.test(names) && !POPS_UP.test(names)
}

/** Drops the text of a button. Only its images are written. */
class ImagesOnly implements Aside {
  text(): void {}

  endsAt(name: string): boolean {
    return name === 'button' || CONTAINERS.has(name)
  }

  end(): void {}
}

/** Content for clients that run no scripts. In the head it is never content. */
export const noscripts: Family = {
  names: ['noscript'],
  open: (page) => page.beginNoscript(),
}

/** A declarative shadow root is content, other templates are not. WHATWG HTML, 4.12.3. */
export const templates: Family = {
  names: ['template'],
  open(page, tag) {
    if (!/^(?:open|closed)$/i.test(tag.attribute('shadowrootmode') ?? '')) return 'skip'
    page.beginShadowRoot()
    return undefined
  },
  close: (page) => page.boundary(),
}

/** The `attributeBit` of each attribute that `isHidden` reads. */
const HIDING = attributeBits('role', 'hidden', 'aria-hidden', 'style')

/** Returns whether the element is not visible, or has the role of a part that is dropped. */
export function isHidden(tag: Tag): boolean {
  if ((tag.attributeBits & HIDING) === 0 || tag.name === 'body' || tag.name === 'html') return false
  const role = tag.attribute('role')?.trim().toLowerCase()
  if (role !== undefined && ROLES.has(role)) return true
  const way = hiddenBy(tag)
  return way !== undefined && role !== 'tabpanel' && !isShownLater(tag, way)
}

/**
 * Returns 1 if an undecoded style may have `none` or `hidden`, otherwise 0. Few styles have them, and copying each
 * style takes longer.
 */
function mayHide(units: ArrayLike<number>, start: number, end: number): number {
  for (let at = start | 0; at < end; at++) {
    const char = (units[at] as number) | 0x20
    if (char === AMPERSAND) return 1
    if (char !== LETTER_N && char !== LETTER_H) continue
    const next = (units[at + 1] as number) | 0x20
    if (next === (char === LETTER_N ? LETTER_O : LETTER_I)) return 1
  }
  return 0
}

type Way = 'hidden' | 'aria-hidden' | 'display' | 'visibility'

function hiddenBy(tag: Tag): Way | undefined {
  const hidden = tag.attribute('hidden')
  if (hidden !== undefined && hidden !== 'until-found') return 'hidden'
  // The content of a page is hidden from aids only as long as a script shows something above it.
  if (tag.attribute('aria-hidden') === 'true' && tag.name !== 'main') return 'aria-hidden'
  if (tag.attributeUnits('style', mayHide) === 0) return undefined
  const style = tag.attribute('style') ?? ''
  if (/(?<![\w-])display\s*:\s*none/i.test(style)) return 'display'
  return /(?<![\w-])visibility\s*:\s*hidden/i.test(style) ? 'visibility' : undefined
}

const isMirage = (tag: Tag): boolean => tag.attribute('data-cfsrc') !== undefined

/** Elements that fold a part of the page. */
const FOLDING: ReadonlySet<string> = new Set(words('div section article li ul ol dl dd p table'))
const FOLDS = /tab|accordion|collaps|panel|toggle|expand|faq|answer|drawer|slide|content/i
const POPS_UP =
  /modal|popup|menu|nav|cookie|consent|lightbox|dialog|tooltip|dropdown|overlay|share|search|login|signup|subscribe|cart/i

/**
 * Returns whether a hidden element is content that a script or the reader unfolds. Examples are a segment of a page
 * that React streams, a formula of MediaWiki or MathJax, and a folded part such as an inactive tab.
 */
function isShownLater(tag: Tag, way: Way): boolean {
  if ((way === 'hidden' || tag.name === 'math') && holdsSegment(tag)) return true
  if (way === 'aria-hidden' && tag.name === 'mjx-math') return texAttribute(tag) !== undefined
  const classes = tag.attribute('class') ?? ''
  if (way === 'display' && /(?:^|\s)mwe-math-mathml-/.test(classes)) return true
  // Images that a script replaces, from Cloudflare, and placeholders, whose image is in the `noscript` after them.
  if (tag.name === 'img') return way === 'aria-hidden' ? tag.attributeStarts('src', 'data:') : isMirage(tag)
  if (way === 'visibility' || !FOLDING.has(tag.name)) return false
  const names = `${classes} ${tag.attribute('id') ?? ''}`
  return FOLDS.test(names) && !POPS_UP.test(names)
}
