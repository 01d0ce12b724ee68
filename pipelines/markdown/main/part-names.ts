// Names of the parts of a page, recognized in classes, ids and labels. The names are a tree of characters in an array of
// numbers: one walk from the start of each word of a class reads the code units of the page in place, copies nothing and
// needs no cache. Regular expressions with a cache of their results took a tenth of the time of a page.

/** It is the body of an article. */
export const IS_BODY = 1
/** It is a part that is not content. */
export const IS_FURNITURE = 2
/** It has comments or reviews. */
export const IS_REPLIES = 4

/** Names of parts, as patterns: characters, `(a|b)`, `?` after what is optional, `_*` for any number of them. */
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
      'newsletters?|subscri(be|ption)|sign-?up|optin|mailing',
      'ads?|adverts?|advertisement|sponsor(ed)?|promos?|banner|cta|outbrain|taboola|paywall',
      'nav|navbar|navigation|menus?|breadcrumbs?|crumbs|toc|skip|tabs-nav|prev-?next|siblings',
      'side-?bar|rail|widgets?|aside|secondary|complementary',
      'footer|foot|copyright|colophon|legal|disclaimer',
      'log-?in|filters?|facets?|pager|pagination|paging|cart|basket|wishlist|search|toolbar|tools|sort(ing|-by)?|print',
      'feedback|rating-form|modal|popup|overlay|dialog|lightbox|tooltip',
      'masthead|topbar|site-?head(er)?|page-?head(er)?',
      'related|recommend(ed|ations?)?|recirc|more-?(from|stories|posts|news)|read-?(more|next)|also-?(like|read)',
      'popular|trending|latest|recent|most-?(read|viewed|popular)|upsells?|cross-?sells?|similar|carousel',
      'tags?|tag-?list|categor(y|ies)-?(list|links)|post-?(meta|nav|navigation|tags|footer)|entry-?(meta|footer)',
      'byline-?links|author-?(box|bio|info|card)|about-?author|bio',
    ],
  ],
  [IS_REPLIES, ['comments?(-?(list|area|section|wrapper|thread|respond))?|commentlist|disqus_thread|replies|respond']],
]

/** Names of bodies that count inside a word as well. */
const INNER = ['articlebody', 'storybody'].map((name) => Uint8Array.from(name, (char) => char.charCodeAt(0)))

/** Maximum characters of a text that are read. */
const MAX_LENGTH = 500

// What a character is. Letters are 1 to 26.
const Y = 25
const HYPHEN = 27
const UNDERSCORE = 28
const SPACE = 29
/** It has to be decoded. */
const UNDECODED = 30
const KINDS = 32

/** What each character of a decoded text is. Words end at those from `HYPHEN` on. */
const DECODED = new Uint8Array(0x10000)
for (let letter = 1; letter <= 26; letter++) DECODED[0x40 + letter] = DECODED[0x60 + letter] = letter
DECODED[0x2d] = HYPHEN
DECODED[0x5f] = UNDERSCORE
// Those of `\s`: a loop over all characters delays the start of each process.
for (const char of '\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff') DECODED[char.charCodeAt(0)] = SPACE
DECODED.fill(SPACE, 0x2000, 0x200b)

/** The same for the text of a page: it may have references, bytes of UTF-8 and line ends of two characters. */
const IN_PAGE = DECODED.slice().fill(UNDECODED, 0x80)
IN_PAGE[0x26] = IN_PAGE[0x0d] = UNDECODED

/** Returns the names that a pattern means; in them, `*` is after a character that may be repeated. */
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

/** The next place in the tree after each place, for each kind of character: 0 for none. Place 0 is the start. */
const NEXT: Uint16Array = (() => {
  const places: number[][] = []
  const newPlace = (): number => places.push(Array.from<number>({ length: KINDS }).fill(0)) - 1
  newPlace()
  const ends: number[] = []
  for (const [part, patterns] of NAMES) {
    for (const name of patterns.flatMap(namesOf)) {
      let place = 0
      let kind = 0
      for (const char of name) {
        if (char === '*') {
          ;(places[place] as number[])[kind] = place
          continue
        }
        kind = DECODED[char.charCodeAt(0)] as number
        const row = places[place] as number[]
        place = row[kind] ||= newPlace()
      }
      ends[place] = (ends[place] ?? 0) | part
    }
  }
  // The parts that end at a place are in the last column of its row.
  for (const [place, row] of places.entries()) row[KINDS - 1] = ends[place] ?? 0
  return Uint16Array.from(places.flat())
})()

/** Returns the parts that the text between two positions names: bits, or -1 if it has to be decoded. */
export const partsInPage = (units: Uint16Array, start: number, end: number): number => parts(units, start, end, IN_PAGE)

const code = new Uint16Array(MAX_LENGTH)

/** Returns the parts that a decoded text names. */
export function partsNamed(text: string): number {
  const length = Math.min(text.length, MAX_LENGTH)
  for (let at = 0; at < length; at++) code[at] = text.charCodeAt(at)
  return parts(code, 0, length, DECODED)
}

function parts(units: Uint16Array, start: number, last: number, kinds: Uint8Array): number {
  const end = Math.min(last, start + MAX_LENGTH)
  let found = 0
  let at = start | 0
  while (at < end) {
    let place = 0
    for (let ahead = at; ; ahead++) {
      const kind = ahead < end ? (kinds[units[ahead] as number] as number) : SPACE
      if (kind >= HYPHEN) found |= NEXT[place + KINDS - 1] as number
      place = (NEXT[place + kind] as number) * KINDS
      if (place === 0) break
    }
    while (at < end) {
      const kind = kinds[units[at++] as number] as number
      if (kind >= HYPHEN) {
        if (kind === UNDECODED) return -1
        break
      }
      if (kind === Y && INNER.some((name) => endsWith(units, start, at, name))) found |= IS_BODY
    }
  }
  return (found & IS_BODY) !== 0 ? IS_BODY : found
}

function endsWith(units: Uint16Array, start: number, end: number, name: Uint8Array): boolean {
  const from = end - name.length
  if (from < start) return false
  for (let at = name.length - 1; at >= 0; at--) if (((units[from + at] as number) | 0x20) !== name[at]) return false
  return true
}
