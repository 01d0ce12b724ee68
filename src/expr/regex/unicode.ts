import { contains, ranges, type Ranges } from './ranges.js'
import { hasUtf8, utf8 } from './utf8.js'

/**
 * Unicode sets from the engine's own tables. A pattern is run once over all code points. Names that JavaScript does not
 * know are not supported here either.
 */
const CATEGORIES = `Other C Control Cc Format Cf Unassigned Cn PrivateUse Co Surrogate Cs Letter L CasedLetter LC
LowercaseLetter Ll ModifierLetter Lm OtherLetter Lo TitlecaseLetter Lt UppercaseLetter Lu Mark M SpacingMark Mc
EnclosingMark Me NonspacingMark Mn Number N DecimalNumber Nd LetterNumber Nl OtherNumber No Punctuation P
ConnectorPunctuation Pc DashPunctuation Pd ClosePunctuation Pe FinalPunctuation Pf InitialPunctuation Pi
OtherPunctuation Po OpenPunctuation Ps Symbol S CurrencySymbol Sc ModifierSymbol Sk MathSymbol Sm OtherSymbol So
Separator Z LineSeparator Zl ParagraphSeparator Zp SpaceSeparator Zs`
const BINARY = `Alphabetic Alpha Lowercase Lower Uppercase Upper White_Space space Math Ideographic Ideo Emoji
Emoji_Presentation Emoji_Modifier Emoji_Modifier_Base Emoji_Component Extended_Pictographic ID_Start IDS ID_Continue IDC
XID_Start XIDS XID_Continue XIDC Cased Case_Ignorable CI Dash Diacritic Dia Extender Ext Hex_Digit Hex ASCII_Hex_Digit
AHex Quotation_Mark QMark Radical Unified_Ideograph UIdeo Variation_Selector VS Noncharacter_Code_Point NChar
Default_Ignorable_Code_Point DI Grapheme_Base Gr_Base Grapheme_Extend Gr_Ext Join_Control Join_C Logical_Order_Exception
LOE Pattern_Syntax Pat_Syn Pattern_White_Space Pat_WS Sentence_Terminal STerm Terminal_Punctuation Term Soft_Dotted SD
Regional_Indicator RI Changes_When_Lowercased CWL Changes_When_Uppercased CWU Changes_When_Titlecased CWT
Changes_When_Casefolded CWCF Changes_When_Casemapped CWCM Bidi_Control Bidi_C Deprecated Dep IDS_Binary_Operator IDSB
IDS_Trinary_Operator IDST`
const SCRIPTS = `Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali Bhaiksuki
Bopomofo Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee Chorasmian Common
Coptic Cuneiform Cypriot Cypro_Minoan Cyrillic Deseret Devanagari Dives_Akuru Dogra Duployan Egyptian_Hieroglyphs Elbasan
Elymaic Ethiopic Georgian Glagolitic Gothic Grantha Greek Gujarati Gunjala_Gondi Gurmukhi Han Hangul Hanifi_Rohingya
Hanunoo Hatran Hebrew Hiragana Imperial_Aramaic Inherited Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi
Kannada Katakana Kawi Kayah_Li Kharoshthi Khitan_Small_Script Khmer Khojki Khudawadi Lao Latin Lepcha Limbu Linear_A
Linear_B Lisu Lycian Lydian Mahajani Makasar Malayalam Mandaic Manichaean Marchen Masaram_Gondi Medefaidrin Meetei_Mayek
Mende_Kikakui Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi Mongolian Mro Multani Myanmar Nabataean Nag_Mundari
Nandinagari New_Tai_Lue Newa Nko Nushu Nyiakeng_Puachue_Hmong Ogham Ol_Chiki Old_Hungarian Old_Italic Old_North_Arabian
Old_Permic Old_Persian Old_Sogdian Old_South_Arabian Old_Turkic Old_Uyghur Oriya Osage Osmanya Pahawh_Hmong Palmyrene
Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham SignWriting
Sinhala Sogdian Sora_Sompeng Soyombo Sundanese Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Takri Tamil
Tangsa Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta Toto Ugaritic Vai Vithkuqi Wancho Warang_Citi Yezidi Yi
Zanabazar_Square`

const MAX_CODE_POINT = 0x10ffff

/** Names are compared without case, spaces, `-` and `_` (UAX 44, LM3). */
const loose = (name: string) => name.toLowerCase().replace(/[\s_-]/g, '')

const CATEGORY_NAMES = new Map<string, string>()
for (const line of [CATEGORIES]) {
  for (const name of line.split(/\s+/)) {
    // JavaScript writes the long names with underscores: LowercaseLetter is Lowercase_Letter.
    CATEGORY_NAMES.set(loose(name), name.length > 2 ? name.replace(/(?<=[a-z])(?=[A-Z])/g, '_') : name)
  }
}
const BINARY_NAMES = new Map(BINARY.split(/\s+/).map((name) => [loose(name), name]))
const SCRIPT_NAMES = new Map(SCRIPTS.split(/\s+/).map((name) => [loose(name), name]))

const cache = new Map<string, Ranges>()

/** Returns the code points of a `\p{name}`, or undefined if the name is unknown. */
export function property(name: string): Ranges | undefined {
  const constant = CONSTANT.get(loose(name))
  if (constant !== undefined) return constant
  const body = classBody(name)
  return body === undefined ? undefined : named(body)
}

const CONSTANT: ReadonlyMap<string, Ranges> = new Map([
  ['any', [0, MAX_CODE_POINT]],
  ['ascii', [0, 127]],
])

/** Returns the JavaScript class body of a `\p{name}`, or undefined if the name is unknown. */
function classBody(name: string): string | undefined {
  const [key, value, ...more] = name.split(/[=:]/)
  if (more.length > 0 || key === undefined) return undefined
  const wanted = loose(value ?? key)
  const which = value === undefined ? '' : loose(key)
  if (which === '' && wanted === 'assigned') return '\\P{Cn}'
  if (which === '' || which === 'gc' || which === 'generalcategory') {
    const category = CATEGORY_NAMES.get(wanted)
    if (category !== undefined) return `\\p{gc=${category}}`
  }
  if (which === '' || which === 'sc' || which === 'script') {
    const script = SCRIPT_NAMES.get(wanted)
    if (script !== undefined) return `\\p{sc=${script}}`
  }
  if (which === 'scx' || which === 'scriptextensions') {
    const script = SCRIPT_NAMES.get(wanted)
    if (script !== undefined) return `\\p{scx=${script}}`
  }
  const binary = which === '' ? BINARY_NAMES.get(wanted) : undefined
  return binary === undefined ? undefined : `\\p{${binary}}`
}

const WORD = '\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}'
const DIGIT = '\\p{Nd}'
const SPACE = '\\p{White_Space}'

/** Returns `\w` with Unicode on; `\d` and `\s` follow (UTS 18, annex C). */
export const unicodeWord = (): Ranges => named(WORD)
export const unicodeDigit = (): Ranges => named(DIGIT)
export const unicodeSpace = (): Ranges => named(SPACE)

/**
 * Returns whether a plane is uniform, except for its last two code points. Such planes have only unassigned or private
 * code points.
 */
const isUniform = (plane: number): boolean => (plane > 3 && plane !== 14) || plane > 14

/**
 * More than all code units of the samples. Four planes outside of the first are not uniform, and their code points are
 * pairs.
 */
const UNITS = 0x10000 * 10

let sampled: string | undefined

/** Returns every code point that a set could distinguish from its neighbors, in order. UTF-8 contains no surrogates. */
function samples(): string {
  if (sampled !== undefined) return sampled
  // Code units, which take a tenth of the time of as many strings.
  const units = new Uint16Array(UNITS)
  let size = 0
  for (let point = 0; point <= MAX_CODE_POINT; point++) {
    if (point === 0xd800) point = 0xe000
    if (point > 0xffff) {
      units[size++] = 0xd7c0 + (point >> 10)
      units[size++] = 0xdc00 | (point & 0x3ff)
    } else units[size++] = point
    if ((point & 0xffff) === 0 && isUniform(point >> 16)) point += 0xfffd
  }
  sampled = new TextDecoder('utf-16le', { ignoreBOM: true }).decode(units.subarray(0, size))
  return sampled
}

/**
 * Returns the code points of a JavaScript class body. There are a few hundred names, so the cache is bounded by them.
 */
function named(body: string): Ranges {
  const known = cache.get(body)
  if (known !== undefined) return known
  const found: number[] = []
  // One pass over a text, because testing each of a million code points takes a tenth of a second for each name.
  for (const [run] of samples().matchAll(new RegExp(`[${body}]+`, 'gu'))) {
    const last = run.slice(/[\udc00-\udfff]$/.test(run) ? -2 : -1).codePointAt(0) as number
    const end = (last & 0xffff) === 0 && isUniform(last >> 16) ? last + 0xfffd : last
    found.push(run.codePointAt(0) as number, end)
  }
  cache.set(body, found)
  return found
}

let folds: Map<number, readonly number[]> | undefined
/** All code points that a case mapping changes. */
const CASED = '\\p{Changes_When_Casemapped}'

/**
 * Returns all code points that are equal if case is ignored (simple folding), for each code point with another case.
 */
function foldTable(): Map<number, readonly number[]> {
  if (folds !== undefined) return folds
  const table = new Map<number, number[]>()
  // Case mappings contain more than folding does, for example the dotless i. Pairs that `i` does not equate are
  // omitted.
  for (const { 0: pair, 1: char = '' } of casePairs().matchAll(/^(.)\1$/gimsu)) {
    const point = char.codePointAt(0) as number
    const to = pair.codePointAt(char.length) as number
    const both = [...new Set([...(table.get(point) ?? [point]), ...(table.get(to) ?? [to])])]
    for (const member of both) table.set(member, both)
  }
  folds = table
  return table
}

/** Returns lines of two characters that one of the case mappings connects. */
function casePairs(): string {
  const lines: string[] = []
  const cased = named(CASED)
  for (let at = 0; at < cased.length; at += 2) {
    for (let point = cased[at] as number; point <= (cased[at + 1] as number); point++) {
      const char = String.fromCodePoint(point)
      const [lower, upper] = [char.toLowerCase(), char.toUpperCase()]
      for (const other of [lower, upper, lower.toUpperCase(), upper.toLowerCase()])
        if (other !== char && isSingle(other)) lines.push(char + other)
    }
  }
  return lines.join('\n')
}

const isSingle = (text: string): boolean => text.length === ((text.codePointAt(0) as number) > 0xffff ? 2 : 1)

/**
 * Builds the tables that the patterns in a text need. Yields before each, and ends immediately if all tables exist. A
 * pattern that needs several tables would otherwise build them in one long turn of the event loop.
 */
export function* unicodeTables(text: string): Generator<undefined, void> {
  if (!/\(\?[a-zA-Z]*u/.test(text)) return
  const names = [...text.matchAll(/\\p(?:\{\^?([^{}]*)\}|(\w))/gi)].map(([, long, short = '']) => long ?? short)
  const bodies = new Set(names.flatMap((name) => classBody(name.replace('!=', '=')) ?? []))
  for (const [escape, body] of ESCAPES) if (escape.test(text)) bodies.add(body)
  const isFolded = /\(\?[a-zA-Z]*i/.test(text)
  if (sampled === undefined && (isFolded || bodies.size > 0)) {
    yield
    samples()
  }
  if (isFolded && folds === undefined) {
    yield
    named(CASED)
    yield
    foldTable()
  }
  for (const body of bodies) {
    if (!cache.has(body)) yield
    const set = named(body)
    if (!hasUtf8(set)) yield
    utf8(set)
    if (!isFolded || folded.has(set)) continue
    yield
    utf8(foldUnicode(set))
  }
}

const ESCAPES: readonly (readonly [RegExp, string])[] = [
  [/\\[wb]/i, WORD],
  [/\\d/i, DIGIT],
  [/\\s/i, SPACE],
]

/** Code points with another case, ascending. */
let folding: readonly number[] | undefined
/** Folded sets. The sets of names are used repeatedly, and the cache retains no others for long. */
const folded = new WeakMap<Ranges, Ranges>()

/** Returns the set with every other case of its code points. */
export function foldUnicode(set: Ranges): Ranges {
  const known = folded.get(set)
  if (known !== undefined) return known
  const table = foldTable()
  folding ??= [...table.keys()].sort((a, b) => a - b)
  const more = [...set]
  for (let at = 0; at < set.length; at += 2) {
    for (let i = firstFrom(folding, set[at] as number); (folding[i] as number) <= (set[at + 1] as number); i++)
      for (const other of table.get(folding[i] as number) ?? []) if (!contains(set, other)) more.push(other, other)
  }
  const result = more.length === set.length ? set : ranges(more)
  folded.set(set, result)
  return result
}

/** Returns the index of the first number that is at least `least`. */
function firstFrom(numbers: readonly number[], least: number): number {
  let low = 0
  let high = numbers.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((numbers[middle] as number) < least) low = middle + 1
    else high = middle
  }
  return low
}
