import { codeAt, lengthOf } from '../text/characters.js'
import { BLOCK_LINKS, BLOCK_TEXT, isLong, KEPT, LEVEL, type Blocks } from './blocks.js'
import { WIDTH } from './rows.js'

/** Maximum text of a block that asks the reader for something, and maximum length of its Markdown, with addresses. */
const MAX_APPEAL = 300
const MAX_MARKDOWN = 2000

/** Services on which readers are asked to follow somebody. */
const SERVICES =
  'twitter|facebook|instagram|linkedin|x\\b|threads|telegram|whatsapp|youtube|tiktok|pinterest|social|google'

/** Starts of text that asks the reader for something, or says to what the page or an image belongs, by their first letters. */
const APPEALS: readonly [letters: string, pattern: string][] = [
  [
    'pl yo do be fo li jo',
    `(?:please |you can |don['’]t forget to |be sure to )?(?:follow|like|join) (?:us|me|him|her|them|@?[\\w.’']+(?: [\\w.’']+)?)[\\W_]{1,4}on[\\W_]{1,4}(?:\\[\\W*)?(?:${SERVICES})`,
  ],
  [
    'pl si su re ge',
    '(?:please )?(?:sign up|subscribe|register|get|receive)\\b[^\\n]{0,120}\\b(?:newsletters?|inbox|letterbox|magazine|our (?:daily|weekly|podcast|channel|blog|mailing))\\b',
  ],
  ['em e- wr co re', '(?:e-?mail|write to|contact|reach) [^\\n]{3,60}@'],
  ['do ha go', '(?:do you )?(?:have|got) (?:a|any) (?:news )?(?:tips?|story|stories)\\b'],
  ['do', "don['’]t miss[\\W_]*$"],
  ['ad sp pr', '(?:advert(?:isement|ising)?s?|sponsored(?: content)?|promoted)[\\W_]*$'],
  ['st ar po', '(?:story|article|post) continues (?:below|after)'],
  ['co sc', 'continue reading|scroll (?:down )?to continue'],
  ['cl ta', '(?:click|tap) here (?:to|for)\\b|click to expand'],
  [
    'ta to ca fi po la ke',
    '(?:tags?|topics?|categor(?:y|ies)|filed (?:under|in)|posted (?:in|on|under)|tagged|labels?|keywords?)[\\W_]{0,4}[:[]',
  ],
  ['co', 'comments?[\\W_]*$'],
  ['do ge', '(?:download|get) (?:the|our) [^\\n]{0,40}\\bapp\\b'],
  ['wa ne', '(?:want|need) more \\w+\\?'],
  [
    'im ph pi co ma fe',
    '(?:image|photo|picture|cover|main|featured)(?: image| photo)?s?[ :]*(?:credits?|copyright|sources?|courtesy)\\b',
  ],
  ['la ed re', '(?:last )?(?:edited|reactions?)(?: by)?:'],
  ['se or al', 'sent from my\\b|original poster[\\W_]*$|already have an account\\b'],
  [
    'cr si lo re yo',
    '(?:create an account|sign in|log ?in|register|you (?:need|must|have)) [^\\n]{0,40}(?:to|and) (?:comment|reply|post|leave)\\b',
  ],
  ['yo', 'you[\\W_]+(?:may|can)[\\W_]*not[\\W_]+(?:post|reply|edit|attach|vote|upload)'],
  [
    'bb sm im ht tr vi',
    '\\[*(?:bb code|smilies|img|html|trackbacks|video)\\b[^\\n]{0,200}\\b(?:is|are)[\\W_]+(?:on|off)[\\W_]*$',
  ],
  [
    'al ti yo fo po',
    '(?:all times are|times? (?:now is|zone)|your time zone|forum (?:jump|rules)|posting (?:rules|permissions))\\b',
  ],
  ['we be', 'welcome to [^\\n]{3,120}\\bforums?\\b|before you (?:start |begin )?post'],
  ['sh', 'share(?: (?:this|on|via)[^\\n]{0,40})?[\\W_]*$'],
  ['to un if', '(?:to read the rest|unlock this)\\b|if you (?:enjoyed|liked) this (?:article|post|story)'],
]
const APPEAL = new RegExp(
  `^(?:${APPEALS.map(([, pattern]) => pattern).join('|')}|\\d[\\d,.]*\\s*(?:comments?|shares?|views?|likes?|replies)[\\W_]*$|©)`,
  'i',
)

/** Characters before the first letter of a block, which mean something in Markdown. */
const MARKS = new Uint8Array(0x10000)
for (const char of '#*_ >[\\!(') MARKS[char.charCodeAt(0)] = 1

/** First two letters of appeals, because a comparison of two letters takes less time than the pattern. */
const LETTERS = new Uint8Array(0x400)
const pairOf = (first: number, second: number): number => ((first & 31) << 5) | (second & 31)
for (const [letters] of APPEALS)
  for (const pair of letters.split(' ')) LETTERS[pairOf(pair.charCodeAt(0), pair.charCodeAt(1))] = 1

/** Returns whether a block begins as text that asks the reader for something. */
function isAppeal(markdown: string): boolean {
  const length = lengthOf(markdown)
  if (length > MAX_MARKDOWN) return false
  let at = 0
  while (at < length - 1 && MARKS[codeAt(markdown, at)] === 1) at++
  const first = codeAt(markdown, at)
  const isLetter = (first | 0x20) >= 0x61 && (first | 0x20) <= 0x7a
  if (isLetter && (at === length - 1 || LETTERS[pairOf(first, codeAt(markdown, at + 1))] === 0)) return false
  return APPEAL.test(at === 0 ? markdown : markdown.slice(at))
}

/** Drops text that asks the reader for something. */
export function dropAppeals(blocks: Blocks): void {
  const { values, end } = blocks.rows
  for (let row = 0; row < end; row += WIDTH) {
    const text = values[row + BLOCK_TEXT] as number
    if (values[row + KEPT] === 0 || values[row + LEVEL] === 1 || text === 0 || text > MAX_APPEAL) continue
    if (isText(blocks, row) && isAppeal(blocks.markdownOf(row))) values[row + KEPT] = 0
  }
}

/** Returns whether a block is not a table, code or a rule. */
function isText(blocks: Blocks, row: number): boolean {
  const kind = blocks.kindOf(row)
  return kind === 'text' || kind === 'paragraph' || kind === 'heading'
}

/** Maximum text of a line below the title that says who wrote the text, and when. */
const MAX_DATE = 90
const DATE = /\b(?:19|20)\d\d\b|\d:\d\d|^\W*by\b/i
/** Maximum characters at the end of a line that may close its last sentence. */
const MAX_END = 12
const SENTENCE_END = /[.!?…:"”»。！？]['’"”*_\\)]*$/

/** Drops lines between the title and the text that say who wrote the text, and when. */
export function dropDates(blocks: Blocks): void {
  const { values, end } = blocks.rows
  let hasTitle = false
  for (let row = 0; row < end; row += WIDTH) {
    if (values[row + KEPT] === 0) continue
    const level = values[row + LEVEL] as number
    if (level === 1) hasTitle = true
    else if (level > 1) return
    const text = values[row + BLOCK_TEXT] as number
    if (text > MAX_DATE && isLong(text, values[row + BLOCK_LINKS] as number)) return
    if (!hasTitle || level > 0 || text === 0 || text > MAX_DATE || !isText(blocks, row) || blocks.isInside(row))
      continue
    const markdown = blocks.markdownOf(row)
    if (lengthOf(markdown) > MAX_MARKDOWN || !DATE.test(markdown)) continue
    if (!SENTENCE_END.test(markdown.slice(-MAX_END))) values[row + KEPT] = 0
  }
}

/** Drops blocks that only repeat the title of the page. */
export function dropTitles(blocks: Blocks): void {
  const { values, end } = blocks.rows
  let first = 0
  while (first < end && (values[first + LEVEL] !== 1 || values[first + KEPT] === 0)) first += WIDTH
  if (first >= end || values[first + BLOCK_TEXT] === 0) return
  const length = values[first + BLOCK_TEXT]
  const title = textOf(blocks, first)
  for (let row = 0; row < end; row += WIDTH) {
    if (values[row + BLOCK_TEXT] !== length || row === first || values[row + KEPT] === 0) continue
    if (isText(blocks, row) && !blocks.isInside(row) && textOf(blocks, row) === title) values[row + KEPT] = 0
  }
}

/** Returns the text of a short block without its marks and the address of its link. */
const textOf = (blocks: Blocks, row: number): string =>
  blocks
    .markdownOf(row)
    .slice(0, MAX_MARKDOWN)
    .replace(/^#{1,6} /, '')
    .replaceAll(/\]\([^()\n]*\)|[[\]*_\\]/g, '')
    .trim()
