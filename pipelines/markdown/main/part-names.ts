// Names of the parts of a page, recognized in classes, ids and labels. The names are states in an array of numbers
// (name-states.ts). One pass reads the code units of the page in place, copies nothing and needs no cache. Regular
// expressions with a cache of their results took a tenth of the time of a page.

import { DECODED, IN_PAGE, NameStates } from './name-states.js'

/** It is the body of an article. */
export const IS_BODY = 1
/** It is a part that is not content. */
export const IS_FURNITURE = 2
/** It has comments. */
export const IS_REPLIES = 4
/** It has what buyers say and ask of a product, or other products. */
export const IS_REVIEWS = 8

/** It is about the author, wants something of the reader, or is a gallery. */
export const IS_BOX = 16

/**
 * Names of parts, as patterns of characters, `(a|b)`, `?` after an optional element, and `_*` for any number of
 * underscores.
 */
const NAMES: readonly [part: number, patterns: readonly string[]][] = [
  [
    IS_BODY,
    [
      'article-?_*(body|content|text|main)',
      '(entry|post|story|blog|news|single|page|main|topic|rich|body|node|product)-?_*(content|body|text)',
      'entry-inner|post-entry|content-?_*(body|main|article|area__main)|cms-content|text-content|body-copy',
      'rich-?text|rte|prose|markdown(-body)?|wysiwyg|td-post-content|field--name-body|mw-parser-output',
    ],
  ],
  [
    IS_FURNITURE,
    [
      'shar(e|es|ing)|socials?|sharedaddy|addtoany|follow(-us)?',
      'cookies?|consent|gdpr|privacy',
      'comments?|disqus|respond|replies|discussion',
      'promos?|banner|cta',
      'nav|navbar|navigation|menus?|breadcrumbs?|crumbs|toc|skip|tabs-nav|prev-?next|siblings',
      'side-?bar|rail|widgets?|aside|secondary|complementary',
      'footer|foot|copyright|colophon|legal|disclaimer',
      'log-?in|filters?|facets?|pager|pagination|paging|cart|basket|wishlist|search|toolbar|tools|sort(ing|-by)?|print',
      'feedback|rating-form|modal|popup|overlay|dialog|lightbox|tooltip',
      'masthead|topbar|site-?head(er)?|page-?head(er)?',
      'related|recommend(ed|ations?)?|recirc|more-?(from|stories|posts|news)|read-?(more|next)|also-?(like|read)',
      'popular|trending|latest|recent|most-?(read|viewed|popular)|upsells?|cross-?sells?|similar|carousel',
      'tags?|tag-?list|categor(y|ies)-?(list|links)|post-?(meta|nav|navigation|tags|footer)|entry-?(meta|footer)',
      'byline-?links|signature',
    ],
  ],
  [
    IS_BOX,
    [
      'author-?(box|bio|info|card)|about-?author|bio|byline',
      'newsletters?|subscri(be|ption)|sign-?up|optin|mailing',
      'ads?|adverts?|advertisement|sponsor(ed)?|paywall|outbrain|taboola',
      'galler(y|ies)|slide-?show|inlinegallery|(image|photo|media|picture)-?gallery',
    ],
  ],
  [
    IS_REVIEWS,
    [
      '(customer-?|product-?|user-?)?(reviews?|ratings?|questions?|testimonials?)(-?(list|area|section|wrapper|container|widget|summary))?',
      'q-?and-?a|faqs?|installments?|financing|compare|accessories|bundles?|(product-)?recommendations?',
    ],
  ],
  [IS_REPLIES, ['comments?(-?(list|area|section|wrapper|thread|respond))?|commentlist|disqus_thread|replies|respond']],
]

/** Names of bodies that count inside a word as well. */
const INNER = ['articlebody', 'storybody']

/** Maximum characters of a text that are read. */
const MAX_LENGTH = 500

/** Returns the names that a pattern matches. In the names, `*` follows a character that may be repeated. */
function namesOf(pattern: string): string[] {
  let at = 0
  const alternatives = (): string[] => {
    const all: string[] = []
    do all.push(...sequence())
    while (pattern[at++] === '|')
    return all
  }
  const sequence = (): string[] => {
    let found = ['']
    while (at < pattern.length && pattern[at] !== '|' && pattern[at] !== ')') {
      const char = pattern[at++] as string
      let parts = char === '(' ? alternatives() : [char]
      if (pattern[at] === '?') parts = ['', ...parts]
      else if (pattern[at] === '*') parts = ['', `${char}*`]
      if (pattern[at] === '?' || pattern[at] === '*') at++
      found = found.flatMap((start) => parts.map((part) => start + part))
    }
    return found
  }
  return alternatives()
}

const STATES = new NameStates(
  NAMES.map(([part, patterns]) => [part, patterns.flatMap(namesOf)]),
  [[IS_BODY, INNER]],
)

/** Returns the parts that the text between two positions names, as bits, or -1 if the text has to be decoded. */
export const partsInPage = (units: Uint8Array, start: number, end: number): number => parts(units, start, end, IN_PAGE)

/** Sign of the class that `partsInClass` has read last. */
export let classSign = 0
export const clearSign = (): void => void (classSign = 0)

/** Returns the parts that a class names, as `partsInPage` does, and sets `classSign`. */
export function partsInClass(units: Uint8Array, start: number, end: number): number {
  const found = STATES.readSigned(units, start, Math.min(end, start + MAX_LENGTH), IN_PAGE)
  classSign = STATES.sign
  return found >= 0 && (found & IS_BODY) !== 0 ? IS_BODY : found
}

const code = new Uint16Array(MAX_LENGTH)

/** Returns the parts that a decoded text names. */
export function partsNamed(text: string): number {
  const length = Math.min(text.length, MAX_LENGTH)
  for (let at = 0; at < length; at++) code[at] = text.charCodeAt(at)
  return parts(code, 0, length, DECODED)
}

function parts(units: Uint8Array | Uint16Array, start: number, end: number, kinds: Uint8Array): number {
  const found = STATES.read(units, start, Math.min(end, start + MAX_LENGTH), kinds)
  return found >= 0 && (found & IS_BODY) !== 0 ? IS_BODY : found
}
