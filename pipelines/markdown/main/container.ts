import type { Tag } from '../events.js'
import { attributeBit, elementNamed, KNOWN_NAMES } from '../names.js'

/** Amount of text of an element or a block, in characters without white space. */
export interface Measure {
  text: number
  /** Part of it in links. */
  links: number
}

/** An element around blocks, and measures of its blocks so far. */
export class Container implements Measure {
  readonly name: string
  readonly parent: Container | undefined
  readonly depth: number
  /** Its group of elements, of those in `FOLLOWED`. */
  readonly group: number
  /** The bits below. */
  readonly traits: number
  /** Those of all containers around it. */
  readonly above: number
  text = 0
  links = 0
  /** Amount of text in blocks that are longer than a few words and not links. */
  long = 0
  /** Part of the three that the containers around it do not have yet. */
  newText = 0
  newLinks = 0
  newLong = 0
  /** The last pass over the blocks that has reached it, and what that pass has found. */
  pass = 0
  verdict = 0

  constructor(name: string, id: number, parent: Container | undefined, depth: number, traits: number) {
    this.name = name
    this.group = FOLLOWED[id] as number
    this.parent = parent
    this.depth = depth
    this.traits = traits
    this.above = parent === undefined ? 0 : parent.traits | parent.above
  }

  /** Adds the measures of a block. */
  add(text: number, links: number, long: number): void {
    this.text += text
    this.links += links
    this.long += long
    this.newText += text
    this.newLinks += links
    this.newLong += long
  }
}

/** Adds what is new in a container, and in those around it up to `end`, to the next one. */
export function addUpTo(end: Container | undefined, place: Container): void {
  for (let at = place; at !== end && at.parent !== undefined; at = at.parent) {
    at.parent.add(at.newText, at.newLinks, at.newLong)
    at.newText = at.newLinks = at.newLong = 0
  }
}

/** Its class, id or `itemprop` is that of the body of an article. */
export const IS_BODY = 1
/** Its class, id, role or label names a part that is not content. */
export const IS_FURNITURE = 2
export const IS_MAIN = 4
export const IS_ARTICLE = 8
export const IS_ASIDE = 16
export const IS_FORM = 32
export const IS_LIST = 64
/** Its class or id is that of comments or reviews. */
export const IS_REPLIES = 256
/** It is content anywhere in the page. */
export const IS_SURE = 128

const BODY =
  /(?:^|[\s_-])(?:article-?_*(?:body|content|text|main)|(?:entry|post|story|blog|news|single|page|main|topic|rich|body|node|product)-?_*(?:content|body|text)(?![a-z])|entry-inner|content-?_*(?:body|main|article|area__main)|rich-?text|rte|prose|markdown(?:-body)?|wysiwyg|td-post-content|field--name-body|body-copy|mw-parser-output|post-entry|cms-content|text-content)(?=$|[\s_-])|articlebody|storybody/i

const FURNITURE = new RegExp(
  `(?:^|[\\s_-])(?:${[
    'shar(?:e|es|ing)|socials?|sharedaddy|addtoany|follow(?:-us)?',
    'cookies?|consent|gdpr|privacy',
    'comments?|disqus|respond|replies|discussion',
    'newsletters?|subscri(?:be|ption)|sign-?up|optin|mailing|ads?|adverts?|advertisement|sponsor(?:ed)?|promos?|banner|cta|outbrain|taboola|paywall',
    'nav|navbar|navigation|menus?|breadcrumbs?|crumbs|toc|skip|tabs-nav|prev-?next|siblings',
    'side-?bar|rail|widgets?|aside|secondary|complementary',
    'footer|foot|copyright|colophon|legal|disclaimer',
    'log-?in|filters?|facets?|pager|pagination|paging|cart|basket|wishlist|search|toolbar|tools|sort(?:ing|-by)?|print|feedback|rating-form|modal|popup|overlay|dialog|lightbox|tooltip',
    'masthead|topbar|site-?head(?:er)?|page-?head(?:er)?',
    'related|recommend(?:ed|ations?)?|recirc|more-?(?:from|stories|posts|news)|read-?(?:more|next)|also-?(?:like|read)|popular|trending|latest|recent|most-?(?:read|viewed|popular)|upsells?|cross-?sells?|similar|carousel',
    'tags?|tag-?list|categor(?:y|ies)-?(?:list|links)|post-?(?:meta|nav|navigation|tags|footer)|entry-?(?:meta|footer)|byline-?links|author-?(?:box|bio|info|card)|about-?author|bio',
  ].join('|')})(?=$|[\\s_-])`,
  'i',
)

const REPLIES =
  /(?:^|[\s_-])(?:comments?(?:-?(?:list|area|section|wrapper|thread|respond))?|commentlist|disqus_thread|replies|respond)(?=$|[\s_-])/i

/** Maximum characters of a name that are read. */
const MAX_NAME = 500

/** One of the three: most names are none, and one expression is faster than three. */
const ANY = new RegExp(`${REPLIES.source}|${BODY.source}|${FURNITURE.source}`, 'i')

function traitsOfName(name: string): number {
  const text = name.length > MAX_NAME ? name.slice(0, MAX_NAME) : name
  if (!ANY.test(text)) return 0
  if (BODY.test(text)) return IS_BODY
  return (REPLIES.test(text) ? IS_REPLIES : 0) | (FURNITURE.test(text) ? IS_FURNITURE : 0)
}

/** Elements that are followed as containers, by their position in the table of names: 0 for others. */
const FOLLOWED = new Uint8Array(KNOWN_NAMES + 1)
for (const name of (
  'address article aside blockquote center dd details dir div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 ' +
  'h5 h6 header hgroup li main menu ol p section table td th ul'
).split(' '))
  FOLLOWED[elementNamed(name).id] = 1

/** Groups of them whose end tag may be omitted before another one. */
const PARAGRAPH = 2
const ITEM = 3
const HEADING = 4
FOLLOWED[elementNamed('p').id] = PARAGRAPH
FOLLOWED[elementNamed('li').id] = ITEM
for (let level = 1; level <= 6; level++) FOLLOWED[elementNamed(`h${level}`).id] = HEADING

export const isFollowed = (id: number): boolean => FOLLOWED[id] !== 0

/** Returns whether the start tag of a followed element ends a container. */
export function endsAt({ group }: Container, id: number): boolean {
  if (group === PARAGRAPH) return true
  return group > PARAGRAPH && group === FOLLOWED[id]
}

const bitOf = (name: string): number => attributeBit(name.charCodeAt(0), name.length)

/** Attributes that name an element, and the bits of their names. */
const NAMING = ['class', 'id', 'role', 'aria-label', 'itemprop']
const BITS = NAMING.map(bitOf)
const ID = bitOf('id')
const ROLE = bitOf('role')
const NAMING_BITS = BITS.reduce((all, bit) => all | bit)

/**
 * Number of names whose traits are cached for all pages: those of a site use a few repeatedly. A later name takes the place
 * of another one, so the memory does not grow.
 */
const SLOTS = 32_768
const KEYS = new Float64Array(SLOTS)
const TRAITS = new Uint16Array(SLOTS)

function traitsOfAttribute(tag: Tag, name: string): number {
  const key = tag.attributeKey(name)
  const slot = key & (SLOTS - 1)
  if (key !== 0 && KEYS[slot] === key) return TRAITS[slot] as number
  const value = tag.attribute(name)
  if (value === undefined || value === '') return 0
  const traits = traitsOfName(value)
  KEYS[slot] = key
  TRAITS[slot] = traits
  return traits
}

/** Determines from the tag of a container what the container is. */
export function traitsOf(tag: Tag): number {
  const traits = OF_ELEMENT[tag.id] as number
  const bits = tag.attributeBits
  if ((bits & NAMING_BITS) === 0) return traits
  let named = 0
  for (let at = 0; at < NAMING.length; at++)
    if ((bits & (BITS[at] as number)) !== 0) named |= traitsOfAttribute(tag, NAMING[at] as string)
  if ((bits & ROLE) !== 0 && tag.attribute('role') === 'main') named |= IS_MAIN
  if ((bits & ID) !== 0 && tag.name === 'div' && isSegment(tag)) named |= IS_SURE
  return traits | ((named & IS_BODY) !== 0 ? named & ~(IS_REPLIES | IS_FURNITURE) : named)
}

/** Returns whether it is a part of a page that React streams. */
const isSegment = (tag: Tag): boolean =>
  tag.attributeStarts('id', 's:') &&
  tag.attribute('id')?.startsWith('S:') === true &&
  tag.attribute('hidden') !== undefined

/** Traits that an element has by its name, by its position in the table of names. */
const OF_ELEMENT = new Uint8Array(KNOWN_NAMES + 1)
for (const [name, traits] of [
  ['main', IS_MAIN],
  ['article', IS_ARTICLE],
  ['aside', IS_ASIDE],
  ['form', IS_FORM],
  ['ul', IS_LIST],
  ['ol', IS_LIST],
] as const)
  OF_ELEMENT[elementNamed(name).id] = traits
