import { BLOCKS, LEADS, LONG, PARENT, PROSE, SIGN, TEXT, TRAITS, type Containers } from './containers.js'
import { BLOCK_LINKS, BLOCK_TEXT, KEPT, PLACE, type Blocks } from './blocks.js'
import { WIDTH } from './rows.js'
import { SIGN_BITS } from './name-states.js'
import { IS_CARDS, IS_LIST, IS_PROFILE } from './traits.js'

/** Minimum number of elements that are alike for a list of other things. */
const MIN_CARDS = 3
/** Maximum text of each. */
const MAX_CARD = 330
/** Minimum share of them that lead to another page. */
const MIN_LEADING = 0.75
/** Minimum long text that is directly in one element of a page with an article. */
const MIN_DIRECT = 800
/** Minimum share of this text in all long text outside of such lists. */
const MIN_DIRECT_SHARE = 0.4

/** Minimum number of posts of a discussion, and minimum blocks and maximum text of the part that describes an author. */
const MIN_POSTS = 3
const MIN_PROFILE = 3
/** Minimum share of profiles in posts with long text. */
const MIN_IN_POSTS = 0.6
const MAX_PROFILE = 200
/** Maximum text of the name of an author. */
const MAX_NAME = 40
const NAME = /^[^:]{0,40}\p{L}[^:\n]{0,400}$|\]\(/u
/** A date with the time of the day. */
const TIME = /(?:19|20)\d\d\b.*\d:\d\d|\d:\d\d.*\b(?:19|20)\d\d\b/
/** Maximum number of blocks between the name and the text of a post. */
const MAX_LOOK = 24
/** Signs of elements without classes are below. */
const MIN_NAMED = 0x10000

/** An odd number that spreads the rows of elements over the numbers of keys. */
const SPREAD = 0x9e3779b1

/** Elements that are alike. One map serves all pages. */
const groups = new Map<number, number[]>()

/** Groups elements by a key. Elements without a key are in no group. */
function groupBy(values: Int32Array, end: number, keyOf: (row: number) => number): void {
  groups.clear()
  for (let row = WIDTH; row < end; row += WIDTH) {
    const key = values[row + BLOCKS] === 0 ? -1 : keyOf(row)
    if (key < 0) continue
    const alike = groups.get(key)
    if (alike === undefined) groups.set(key, [row])
    else alike.push(row)
  }
}

/**
 * Marks lists of other things. Their elements are side by side, have one name and the same classes, are short, and have
 * a title that is a link. The lists stay if the page consists of them, unless it sells one product.
 */
export function markCards({ rows: { values, end } }: Containers, isShop: boolean): void {
  const direct = longestDirect(values, end)
  if (!isShop && direct < MIN_DIRECT) return
  groupBy(
    values,
    end,
    (row) => (Math.imul(values[row + PARENT] as number, SPREAD) ^ (values[row + SIGN] as number)) & SIGN_BITS,
  )
  const found: number[] = []
  let long = 0
  for (const alike of groups.values()) {
    const areAlike = alike.length >= MIN_CARDS && areCards(values, alike)
    for (const row of alike) {
      if (!areAlike && !isCardList(values, row)) continue
      found.push(row)
      long += values[row + LONG] as number
    }
  }
  const outside = (values[LONG] as number) - long
  if (!isShop && (direct < MIN_DIRECT_SHARE * outside || direct < long)) return
  for (const row of found) values[row + TRAITS]! |= IS_CARDS
}

function areCards(values: Int32Array, alike: readonly number[]): boolean {
  let leading = 0
  for (const row of alike)
    if ((values[row + LEADS] as number) > 0 && (values[row + TEXT] as number) <= MAX_CARD) leading++
  return leading >= MIN_LEADING * alike.length
}

/** Returns whether it is a list whose items lead to other pages. */
function isCardList(values: Int32Array, row: number): boolean {
  if (((values[row + TRAITS] as number) & IS_LIST) === 0) return false
  const leads = values[row + LEADS] as number
  return leads >= MIN_CARDS && (values[row + TEXT] as number) <= MAX_CARD * leads
}

/** Returns the most long text that is directly in one element. */
function longestDirect(values: Int32Array, end: number): number {
  for (let row = 0; row < end; row += WIDTH) values[row + PROSE] = values[row + LONG] as number
  for (let row = WIDTH; row < end; row += WIDTH)
    values[(values[row + PARENT] as number) + PROSE]! -= values[row + LONG] as number
  let longest = 0
  for (let row = 0; row < end; row += WIDTH) longest = Math.max(longest, values[row + PROSE] as number)
  return longest
}

/**
 * Marks the part of each post of a discussion that describes its author, such as the number of posts. Returns whether there
 * are such parts.
 */
export function markProfiles({ rows: { values, end } }: Containers): boolean {
  let isFound = false
  groupBy(values, end, (row) => {
    const sign = values[row + SIGN] as number
    return sign >= MIN_NAMED && values[row + LONG] === 0 ? sign : -1
  })
  for (const alike of groups.values()) {
    if (alike.length < MIN_POSTS || !areProfiles(values, alike) || !areInPosts(values, alike)) continue
    for (const row of alike) values[row + TRAITS]! |= IS_PROFILE
    isFound = true
  }
  return isFound
}

/** Keeps the name of the author, which is the first line of each profile, and the time of the post. */
export function keepNames(blocks: Blocks, { rows: { values: containers } }: Containers): void {
  const { values, end } = blocks.rows
  let last = -1
  for (let row = 0; row < end; row += WIDTH) {
    const text = values[row + BLOCK_TEXT] as number
    // The picture of an author may be the first letter of the name.
    if (text < 2 || text > MAX_NAME) continue
    const profile = profileAround(containers, values[row + PLACE] as number)
    if (profile < 0) continue
    const isKept = profile === last ? TIME.test(blocks.markdownOf(row)) : isName(blocks, row)
    last = profile
    if (isKept && isPostKept(blocks, row, containers, profile)) values[row + KEPT] = 1
  }
}

function isName(blocks: Blocks, row: number): boolean {
  const kind = blocks.kindOf(row)
  return (kind === 'heading' || kind === 'text' || kind === 'paragraph') && NAME.test(blocks.markdownOf(row))
}

/** Returns whether the text of the post with a profile is content. `row` is a block of the profile. */
function isPostKept(blocks: Blocks, row: number, containers: Int32Array, profile: number): boolean {
  const { values, end } = blocks.rows
  let post = profile
  while (post !== 0 && containers[post + LONG] === 0) post = containers[post + PARENT] as number
  const last = Math.min(end, row + MAX_LOOK * WIDTH)
  for (let each = row + WIDTH; each < last; each += WIDTH) {
    if (values[each + KEPT] === 0) continue
    let place = values[each + PLACE] as number
    while (place > post) place = containers[place + PARENT] as number
    return place === post
  }
  return false
}

/** Returns the row of the profile around a container, or -1. */
function profileAround(containers: Int32Array, place: number): number {
  for (let row = place; row !== 0; row = containers[row + PARENT] as number)
    if (((containers[row + TRAITS] as number) & IS_PROFILE) !== 0) return row
  return -1
}

const areProfiles = (values: Int32Array, alike: readonly number[]): boolean =>
  alike.every((row) => (values[row + TEXT] as number) <= MAX_PROFILE && (values[row + BLOCKS] as number) >= MIN_PROFILE)

/**
 * Returns whether most are in other elements of one kind, which have long text. The text of a few posts is short, so no
 * element with long text is around them alone.
 */
function areInPosts(values: Int32Array, alike: readonly number[]): boolean {
  const posts = new Map<number, number>()
  let last = 0
  for (const row of alike) {
    let post = values[row + PARENT] as number
    while (post !== 0 && values[post + LONG] === 0) post = values[post + PARENT] as number
    if (post === 0 || post === last) continue
    last = post
    const sign = values[post + SIGN] as number
    posts.set(sign, (posts.get(sign) ?? 0) + 1)
  }
  const most = Math.max(0, ...posts.values())
  return most >= MIN_POSTS && most >= MIN_IN_POSTS * alike.length
}

/** Minimum text of a block that is written once only. */
const MIN_REPEATED = 60

/** Blocks by their measures. Few blocks have equal measures, and comparing texts takes longer than comparing numbers. */
const measured = new Map<number, number>()

/** Drops text that another element has as well, as pages have for screens of several widths. */
export function dropRepeated(blocks: Blocks): void {
  const { values, end } = blocks.rows
  for (let row = 0; row < end; row += WIDTH) {
    const text = values[row + BLOCK_TEXT] as number
    if (values[row + KEPT] === 0 || text < MIN_REPEATED) continue
    const key = ((text << 12) ^ (values[row + BLOCK_LINKS] as number)) & SIGN_BITS
    const first = measured.get(key)
    if (first === undefined) measured.set(key, row)
    else if (isRepeated(blocks, row, first)) values[row + KEPT] = 0
  }
  measured.clear()
}

/** Returns whether a block repeats another, which is in another element. A quote repeats the text of others on purpose. */
const isRepeated = (blocks: Blocks, row: number, first: number): boolean =>
  blocks.rows.values[row + PLACE] !== blocks.rows.values[first + PLACE] &&
  !blocks.isQuoted(row) &&
  blocks.markdownOf(row) === blocks.markdownOf(first)
