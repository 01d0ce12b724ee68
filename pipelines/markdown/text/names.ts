/** Type of contents of an element, by which they are read. WHATWG HTML, 13.2.5. */
export type Content = 'data' | 'rcdata' | 'rawtext' | 'script' | 'plaintext' | 'cdata'

/** Properties of an element that the tokenizer needs. */
export interface ElementName {
  readonly name: string
  /** Position in the table, for counters. */
  readonly id: number
  readonly content: Content
  readonly isVoid: boolean
  /** Its end tag closes every element inside it. */
  readonly closes: boolean
  /** Whether end tags inside it do not reach elements around it. WHATWG HTML, 13.2.4.2, "in scope". */
  readonly barrier: boolean
  /** Whether its start tag inside `svg` or `math` ends `svg` and `math`. WHATWG HTML, 13.2.6.5. */
  readonly breakout: boolean
  /** Inside this foreign element its contents are HTML again. */
  readonly integration: 'svg' | 'math' | undefined
  /** It begins SVG or MathML. */
  readonly foreignRoot: 'svg' | 'math' | undefined
  /** Whether it is a row, a cell or the like, whose start tag closes everything since the start tag of the table. */
  readonly tablePart: boolean
}

const words = (text: string) => text.trim().split(/\s+/)
const set = (text: string): ReadonlySet<string> => new Set(words(text))

const CONTENT: ReadonlyMap<string, Content> = new Map([
  ['title', 'rcdata'],
  ['textarea', 'rcdata'],
  ['style', 'rawtext'],
  ['xmp', 'rawtext'],
  ['iframe', 'rawtext'],
  ['noembed', 'rawtext'],
  ['noframes', 'rawtext'],
  ['script', 'script'],
  ['plaintext', 'plaintext'],
])
const VOID = set('area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr')
const BARRIERS = set('applet caption marquee object table td th template')
const INTEGRATION: ReadonlyMap<string, 'svg' | 'math'> = new Map([
  ...words('foreignobject desc title').map((name) => [name, 'svg'] as const),
  ...words('mi mo mn ms mtext annotation-xml').map((name) => [name, 'math'] as const),
])
const CLOSES = set(`address article aside blockquote button center details dialog dir div dl fieldset figcaption figure
  footer header hgroup listing main menu nav ol pre search section select summary ul svg math ${[...BARRIERS].join(' ')}`)
const BREAKOUT = set(`b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li
  listing menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var`)
const TABLE_PARTS = set('caption col colgroup tbody td tfoot th thead tr')
const OTHERS =
  words(`a abbr acronym annotation area audio base bdi bdo canvas cite colgroup data datalist del dfn font frame
  frameset html input ins kbd label legend link map mark meter form optgroup option output picture progress q
  rb rp rt rtc samp slot source time track video wbr noscript g path use symbol defs circle rect line polygon polyline
  lineargradient stop text tspan image clippath mrow mfrac msqrt mroot msub msup msubsup munder mover munderover mtable mtr mtd
  mfenced mstyle mpadded mphantom menclose semantics mjx-container mjx-math mjx-assistive-mml amp-img amp-anim amp-video amp-audio
  amp-iframe amp-youtube amp-vimeo amp-dailymotion amp-twitter amp-instagram amp-facebook lite-youtube lite-vimeo youtube-video
  vimeo-video mmultiscripts mprescripts none`)

/** Elements that do not end the head. WHATWG HTML, 13.2.6.4.4. */
export const HEAD_ELEMENTS = set(
  'html head base basefont bgsound link meta title noscript noframes style script template',
)

/** Returns a name as engines store the keys of objects, which they compare by their address. */
const interned = (name: string): string => Object.keys({ [name]: true })[0] as string

const TABLE: readonly ElementName[] = [
  ...new Set([...CONTENT.keys(), ...INTEGRATION.keys(), ...VOID, ...CLOSES, ...BREAKOUT, ...TABLE_PARTS, ...OTHERS]),
].map((name, id) => ({
  name: interned(name),
  id,
  content: CONTENT.get(name) ?? 'data',
  isVoid: VOID.has(name),
  closes: CLOSES.has(name),
  barrier: BARRIERS.has(name),
  breakout: BREAKOUT.has(name),
  integration: INTEGRATION.get(name),
  foreignRoot: name === 'svg' || name === 'math' ? name : undefined,
  tablePart: TABLE_PARTS.has(name),
}))

/** Number of names in the table, which is one more than the greatest `id`. */
export const KNOWN_NAMES = TABLE.length

/** The rows of the table by their id, followed by undefined, for names that the table does not have. */
export const ELEMENTS: readonly (ElementName | undefined)[] = [...TABLE, undefined]

const BY_NAME: ReadonlyMap<string, ElementName> = new Map(TABLE.map((element) => [element.name, element]))

/** Returns whether `html` has `name`, which is in lower case, at `start`, in any case. Nothing is copied. */
export function matches(html: string, start: number, name: string): boolean {
  for (let at = 0; at < name.length; at++) {
    const char = html.charCodeAt(start + at)
    const lower = char >= 0x41 && char <= 0x5a ? char + 0x20 : char
    if (lower !== name.charCodeAt(at)) return false
  }
  return true
}

/** Returns whether `units` have `name`, which is in lower case, at `start`, in any case. */
export function unitsMatch(units: Uint8Array, start: number, name: string): boolean {
  for (let at = 0; at < name.length; at++) {
    const char = units[start + at] as number
    const lower = char >= 0x41 && char <= 0x5a ? char + 0x20 : char
    if (lower !== name.charCodeAt(at)) return false
  }
  return true
}

/** Converts A to Z to lower case and NUL to the replacement character, as in tag and attribute names. */
export const lowerName = (name: string): string =>
  // oxlint-disable-next-line no-control-regex
  /[A-Z\0]/.test(name) ? name.replace(/[A-Z]+/g, (upper) => upper.toLowerCase()).replaceAll('\0', '\ufffd') : name

/** Returns the table's row of a name that is in it. */
export function elementNamed(name: string): ElementName {
  const element = BY_NAME.get(name)
  if (element === undefined) throw new RangeError(`no element ${name} in the table`)
  return element
}

/** Returns the position of a name, in lower case, in the table, or `KNOWN_NAMES` if the table does not have it. */
export const idOf = (name: string): number => BY_NAME.get(name)?.id ?? KNOWN_NAMES

/** Returns one of 32 bits for an attribute name, so that most attributes that a tag lacks are recognized quickly. */
export const attributeBit = (firstChar: number, length: number): number => 1 << (firstChar + 3 * length)

/** Returns the `attributeBit` of each of these attributes. */
export const attributeBits = (...names: string[]): number =>
  names.reduce((bits, name) => bits | attributeBit(name.charCodeAt(0), name.length), 0)

/** Returns whether an element of this name, in lower case, never has contents. */
export const isVoid = (name: string): boolean => VOID.has(name)
