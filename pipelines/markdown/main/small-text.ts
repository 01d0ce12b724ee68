import { BLOCK_LINKS, BLOCK_TEXT, isLong, KEPT, LEVEL, type Blocks } from './blocks.js'
import { WIDTH } from './rows.js'

/** Maximum text of a block that asks the reader for something. */
const MAX_APPEAL = 300

/** Services on which readers are asked to follow somebody. */
const SERVICES =
  'twitter|facebook|instagram|linkedin|x\\b|threads|telegram|whatsapp|youtube|tiktok|pinterest|social|google'

/** Starts of text that asks the reader for something, or says to what the page or an image belongs. */
const APPEALS = [
  `(?:please |you can |don['’]t forget to |be sure to )?(?:follow|like|join) (?:us|me|him|her|them|@?[\\w.’']+(?: [\\w.’']+)?)[\\W_]{1,4}on[\\W_]{1,4}(?:\\[\\W*)?(?:${SERVICES})`,
  '(?:please )?(?:sign up|subscribe|register|get|receive)\\b[^\\n]{0,120}\\b(?:newsletters?|inbox|letterbox|magazine|our (?:daily|weekly|podcast|channel|blog|mailing))\\b',
  '(?:e-?mail|write to|contact|reach) [^\\n]{3,60}@',
  '(?:do you )?(?:have|got) (?:a|any) (?:news )?(?:tips?|story|stories)\\b',
  `don['’]t miss[\\W_]*$`,
  '(?:advert(?:isement|ising)?s?|sponsored(?: content)?|promoted)[\\W_]*$',
  '(?:story|article|post) continues (?:below|after)|continue reading|scroll (?:down )?to continue|(?:click|tap) here (?:to|for)\\b',
  '(?:tags?|topics?|categor(?:y|ies)|filed (?:under|in)|posted (?:in|on|under)|tagged|labels?|keywords?)[\\W_]{0,4}[:[]',
  '\\d[\\d,.]*\\s*(?:comments?|shares?|views?|likes?|replies)[\\W_]*$|comments?[\\W_]*$',
  '(?:download|get) (?:the|our) [^\\n]{0,40}\\bapp\\b|(?:want|need) more \\w+\\?',
  '(?:image|photo|picture|cover|main|featured)(?: image| photo)?s?[ :]*(?:credits?|copyright|sources?|courtesy)\\b|©',
  'click to expand|(?:last )?(?:edited|reactions?)(?: by)?:|sent from my\\b|original poster[\\W_]*$|already have an account\\b|(?:create an account|sign in|log ?in|register|you (?:need|must|have)) [^\\n]{0,40}(?:to|and) (?:comment|reply|post|leave)\\b',
  '(?:to read the rest|unlock this)\\b|if you (?:enjoyed|liked) this (?:article|post|story)',
]
const APPEAL = new RegExp(`^[#*_\\s>[\\\\!(]*(?:${APPEALS.join('|')})`, 'i')

/** Drops text that asks the reader for something. */
export function dropAppeals(blocks: Blocks): void {
  const { values, end } = blocks.rows
  for (let row = 0; row < end; row += WIDTH) {
    const text = values[row + BLOCK_TEXT] as number
    if (values[row + KEPT] === 0 || values[row + LEVEL] === 1 || text === 0 || text > MAX_APPEAL) continue
    if (isText(blocks, row) && APPEAL.test(blocks.markdownOf(row))) values[row + KEPT] = 0
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
    if (DATE.test(markdown) && !SENTENCE_END.test(markdown)) values[row + KEPT] = 0
  }
}
