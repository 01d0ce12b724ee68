import { BLOCK_LINKS, BLOCK_TEXT, isLong, KEPT, LEVEL, PLACE, type Blocks } from './blocks.js'
import { BLOCKS, LINKS, LONG, PARENT, PROSE, TEXT, TRAITS, VERDICT, WITHIN, type Containers } from './containers.js'
import { IS_BODY, IS_BOX, IS_FURNITURE, IS_REPLIES, IS_REVIEWS } from './part-names.js'
import { dropAppeals, dropDates, dropTitles } from './small-text.js'
import { WIDTH, type Rows } from './rows.js'
import { dropOffers } from './shop.js'
import { dropRepeated, keepNames, markCards, markProfiles } from './repeated.js'
import {
  IS_ARTICLE,
  IS_ASIDE,
  IS_FORM,
  IS_HIDDEN,
  IS_LIST,
  IS_MAIN,
  IS_REPEATED,
  IS_SEGMENT,
  IS_STATED,
  IS_SURE,
} from './traits.js'

/** Minimum text of an element for which its name counts. */
const MIN_REGION = 500
/** Minimum text of a body that the page states, and of a page with one. */
const MIN_STATED = 150
const MIN_ARTICLE = 1500
/** Minimum text in the content of a page. With less the rules were wrong. */
const MIN_TEXT = 600

/** Minimum share of text that is not links in the content of a short page. With less the rules were wrong. */
const MIN_PLAIN_SHARE = 0.6
/** Minimum text of a part about the author or a gallery that is content nevertheless. */
const MAX_BOX = 700

/** Minimum share of a region's text in an inner region that is chosen instead. */
const MIN_INNER_SHARE = 0.8
/** Minimum text outside comments for a page that consists of more than its comments. */
const MIN_WITHOUT_REPLIES = 375
/** Maximum share of links in the text of a list, and of a part that is content in spite of its name. */
const MAX_SHARE = 0.55
/** Maximum share of links in the text of a block that is not a block of links. */
const MAX_LINK_SHARE = 0.8

const ASIDE_TITLE =
  /^(?:related|you (?:may|might|could) (?:also|be)|you['’]ll also|more (?:from|on|in|like|stories|articles|posts|news|about|information|to)|recommended|recommendations|comments?\b|\d+ (?:comments|responses|replies)|leave a (?:reply|comment)|post a comment|join the (?:conversation|discussion)|newsletter|subscribe|sign up|get (?:our|the) (?:newsletter|latest)|share\b|latest\b|recent\b|popular\b|trending|most (?:read|popular|viewed)|in this (?:article|section|series)|table of contents|contents$|on this page|read (?:more|next|also)|keep reading|further reading|follow us|about the author|about author|tags?:?$|categories|archives?$|advertisement|sponsored|see also|what to read next|top stories|editor['’]?s['’]? picks|don['’]t miss|up next|explore more|customers (?:also|who)|people also|similar (?:products|posts|articles|items|threads|topics)|recommended posts|frequently bought|recently viewed|discover more|other (?:articles|posts|stories)|next (?:article|post)|previous (?:article|post)|stay (?:connected|informed|up)|contact us|quick links|navigation|search$|menu$|filter|share this|print|featured (?:posts|articles)|also (?:on|in)|was this)/i

/** Returns Markdown without a last section whose heading is such as "Related". */
export function withoutAside(markdown: string): string {
  const at = markdown.lastIndexOf('\n#')
  if (at < 0) return markdown
  const title = /^\n#{2,6} (.{1,64})/.exec(markdown.slice(at, at + 80))?.[1]
  return title !== undefined && ASIDE_TITLE.test(title) ? markdown.slice(0, at).trimEnd() : markdown
}

/** Titles of sections of a page that sells one product, which are not about the product. */
const OFFER_TITLE =
  /^(?:(?:customer|verified|google|user|product|critic|all|top|most helpful|our)?\s*(?:reviews?|ratings?|testimonials?)\b|what (?:our )?(?:customers?|people|others)|customers? (?:say|questions|photos|images)|questions?\b|ask a question|q ?(?:&|and) ?a\b|faqs?\b|frequently asked|compare\b|(?:you )?(?:may|might) also|pairs? (?:well|with)|complete (?:the|your)|shop (?:the|more|by|our)|our best|best ?sellers?|more (?:to|ways)|financing|payment|why (?:buy|shop|choose)|accessories|trade.?in|good to know)/i

/** Traits of elements that can be the region of the content, with minimum text and minimum share of the whole text. */
const REGIONS: readonly [trait: number, minText: number, minShare: number][] = [
  [IS_STATED, MIN_STATED, 0.5],
  [IS_BODY, MIN_REGION, 0.5],
  [IS_ARTICLE, MIN_ARTICLE, 0.5],
  [IS_MAIN, MIN_REGION, 0],
]
/** An element that is the region of a kind has the trait of that kind, shifted by this, as well. */
const CHOSEN = 16
const CHOSEN_MAIN = IS_MAIN << CHOSEN

/** Result of a pass for a container, besides the regions that contain it. */
const SURE = 1
const FURNITURE = 2
/** Traits by which a container may be a part that is not content. */
const MAY_BE_FURNITURE = IS_REPEATED | IS_LIST | IS_ASIDE | IS_FORM | IS_BOX | IS_FURNITURE | IS_REPLIES | IS_REVIEWS

/** Decides which blocks are the main content of a page. Results for one part are reused for the next. */
export class MainContent {
  /** Regions of the page so far, with the bit of the container for each type. */
  #regions = 0
  #text = 0

  /** Marks the blocks that are content. */
  choose(blocks: Blocks, containers: Containers, isShop: boolean): void {
    this.#findRegions(containers.rows)
    markCards(containers, isShop)
    const hasProfiles = !isShop && markProfiles(containers)
    this.#apply(blocks, containers.rows, true, isShop)
    if (hasProfiles) keepNames(blocks, containers)
    const minText = (this.#regions & (IS_STATED << CHOSEN)) === 0 ? MIN_TEXT : MIN_STATED
    if (this.#text + textIn(blocks) >= minText) {
      dropAppeals(blocks)
      dropTitles(blocks)
      dropEmptyHeadings(blocks.rows.values, blocks.rows.end)
    } else this.#applyShort(blocks, containers.rows, isShop)
    this.#text += textIn(blocks)
  }

  /** Marks the blocks that are content of a page with little text, for which the rules may be wrong. */
  #applyShort(blocks: Blocks, containers: Rows, isShop: boolean): void {
    // The few links and images beside little text belong to it.
    this.#apply(blocks, containers, true, isShop, false)
    if (plainShare(blocks) >= MIN_PLAIN_SHARE) return
    this.#apply(blocks, containers, false, false)
    if (this.#text + textIn(blocks) < MIN_TEXT) keepAll(blocks, containers)
  }

  /** Finds the only body of an article, the only article and the main element of the page, if they exist. */
  #findRegions({ values, end }: Rows): void {
    let seen = 0
    for (let row = 0; row < end; row += WIDTH) seen |= values[row + TRAITS] as number
    for (const [trait, minText, minShare] of REGIONS) {
      if ((seen & trait) === 0 || (this.#regions & (trait << CHOSEN)) !== 0) continue
      const region = regionOf(values, end, trait, minText, minShare)
      if (region < 0) continue
      values[region + TRAITS]! |= trait << CHOSEN
      this.#regions |= trait << CHOSEN
    }
  }

  #apply(
    blocks: Blocks,
    { values: containers, end: last }: Rows,
    strict: boolean,
    isShop: boolean,
    dropsLinks = true,
  ): void {
    const regions = strict ? this.#regions : this.#regions & CHOSEN_MAIN
    const dropsReplies = strict && hasMoreThanReplies(blocks, containers)
    for (let row = 0; row < last; row += WIDTH) {
      const traits = containers[row + TRAITS] as number
      let verdict =
        (traits & regions) | (row === 0 ? 0 : (containers[(containers[row + PARENT] as number) + VERDICT] as number))
      if ((traits & IS_SURE) !== 0) verdict |= SURE
      else if (
        (traits & MAY_BE_FURNITURE) !== 0 &&
        (isFurniture(containers, row, strict) ||
          (dropsReplies && (traits & IS_REPLIES) !== 0) ||
          (isShop && (traits & IS_REVIEWS) !== 0))
      )
        verdict = isSure(containers[row + WITHIN] as number) ? verdict : (verdict & ~SURE) | FURNITURE
      containers[row + VERDICT] = verdict
    }
    const { values, end } = blocks.rows
    for (let row = 0; row < end; row += WIDTH)
      values[row + KEPT] = isContent(blocks, row, containers, regions, dropsLinks) ? 1 : 0
    if (strict) dropSections(blocks, containers, isShop)
    if (strict && (regions & NAMED_REGION) === 0) keepProse(blocks, containers, last)
    if (strict) dropNextArticles(blocks, containers)
    if (strict) dropDates(blocks)
    dropEmptyHeadings(values, end)
    if (strict) dropRepeated(blocks)
    if (strict && isShop) dropOffers(blocks)
  }
}

/**
 * Returns the only container of a type that is large enough, not counting containers inside it, or -1. If a container
 * inside it has nearly all of its text, returns the innermost such container.
 */
function regionOf(values: Int32Array, end: number, trait: number, minText: number, minShare: number): number {
  let found = -1
  let count = 0
  let all = 0
  for (let row = 0; row < end; row += WIDTH) {
    const parent = values[row + PARENT] as number
    const isInside = row > 0 && values[parent + VERDICT] === 1
    values[row + VERDICT] = isInside ? 1 : 0
    if (((values[row + TRAITS] as number) & trait) === 0 || values[row + BLOCKS] === 0) continue
    const long = values[row + LONG] as number
    if (((values[parent + WITHIN] as number) & trait) === 0) all += long
    if (isInside || long < minText) continue
    values[row + VERDICT] = 1
    found = row
    count++
  }
  // One of many articles, as in a forum, is not the content of the page.
  if (count !== 1 || (values[found + LONG] as number) <= minShare * all) return -1
  const minInner = Math.max(minText, MIN_INNER_SHARE * (values[found + LONG] as number))
  let inner = found
  for (let row = found; row < end; row += WIDTH)
    if (
      ((values[row + TRAITS] as number) & trait) !== 0 &&
      values[row + BLOCKS] !== 0 &&
      (values[row + LONG] as number) >= minInner
    )
      inner = row
  return inner
}

/** Returns whether the page has enough text without its comments and reviews. */
function hasMoreThanReplies({ rows: { values, end } }: Blocks, containers: Int32Array): boolean {
  let sum = 0
  for (let row = 0; row < end && sum < MIN_WITHOUT_REPLIES; row += WIDTH) {
    const text = values[row + BLOCK_TEXT] as number
    if (!isLong(text, values[row + BLOCK_LINKS] as number)) continue
    if (((containers[(values[row + PLACE] as number) + WITHIN] as number) & IS_REPLIES) === 0) sum += text
  }
  return sum >= MIN_WITHOUT_REPLIES
}

function isContent(blocks: Blocks, row: number, containers: Int32Array, regions: number, dropsLinks: boolean): boolean {
  const { values } = blocks.rows
  const place = values[row + PLACE] as number
  const verdict = containers[place + VERDICT] as number
  if (((containers[place + WITHIN] as number) & IS_HIDDEN) !== 0) return false
  if ((verdict & SURE) !== 0) return true
  if ((verdict & FURNITURE) !== 0) return false
  const level = values[row + LEVEL] as number
  if ((verdict & regions) !== regions) return level === 1
  if (level > 0 || !dropsLinks) return true
  const text = values[row + BLOCK_TEXT] as number
  if (text === 0) return blocks.kindOf(row) === 'fence' || isIllustration(containers, place)
  return (values[row + BLOCK_LINKS] as number) <= MAX_LINK_SHARE * text || blocks.kindOf(row) === 'table'
}

function textIn({ rows: { values, end } }: Blocks): number {
  let text = 0
  for (let row = 0; row < end; row += WIDTH) if (values[row + KEPT] === 1) text += values[row + BLOCK_TEXT] as number
  return text
}

/** Returns the share of text that is content, not counting links. */
function plainShare({ rows: { values, end } }: Blocks): number {
  let all = 0
  let kept = 0
  for (let row = 0; row < end; row += WIDTH) {
    const plain = (values[row + BLOCK_TEXT] as number) - (values[row + BLOCK_LINKS] as number)
    all += plain
    if (values[row + KEPT] === 1) kept += plain
  }
  return all === 0 ? 0 : kept / all
}

/** Keeps all blocks, and hidden ones if they have most of the text. */
function keepAll({ rows: { values, end } }: Blocks, { values: containers }: Rows): void {
  let hidden = 0
  let shown = 0
  for (let row = 0; row < end; row += WIDTH) {
    const isHidden = ((containers[(values[row + PLACE] as number) + WITHIN] as number) & IS_HIDDEN) !== 0
    values[row + KEPT] = isHidden ? 0 : 1
    if (isHidden) hidden += values[row + BLOCK_TEXT] as number
    else shown += values[row + BLOCK_TEXT] as number
  }
  if (hidden > shown) for (let row = 0; row < end; row += WIDTH) values[row + KEPT] = 1
}

const MIN_ILLUSTRATED = 375

/** Returns whether a container, or the one around it, has text that an image in it illustrates. */
const isIllustration = (containers: Int32Array, place: number): boolean =>
  (containers[place + LONG] as number) >= MIN_ILLUSTRATED ||
  (containers[(containers[place + PARENT] as number) + LONG] as number) >= MIN_ILLUSTRATED

/** Returns whether a container is a part of the page that is not content, by its name and its contents. */
function isFurniture(containers: Int32Array, row: number, strict: boolean): boolean {
  const traits = containers[row + TRAITS] as number
  const text = containers[row + TEXT] as number
  const long = containers[row + LONG] as number
  const share = text === 0 ? 0 : (containers[row + LINKS] as number) / text
  if ((traits & IS_LIST) !== 0 && share > MAX_SHARE) return true
  if (strict && (traits & IS_REPEATED) !== 0) return true
  if ((traits & IS_ASIDE) !== 0 && long < 1250) return true
  if ((traits & IS_FORM) !== 0 && long < 250) return true
  if (!strict || (traits & (IS_MAIN | IS_ARTICLE | IS_BODY)) !== 0) return false
  if ((traits & IS_BOX) !== 0 && (long < MAX_BOX || share > MAX_SHARE)) return true
  if ((traits & IS_FURNITURE) === 0) return false
  return long < 90 || share > MAX_SHARE
}

/** Returns whether everything in a container is content. A part that a script moves has parts that are not content. */
const isSure = (within: number): boolean => (within & (IS_SURE | IS_SEGMENT)) === IS_SURE

/** Minimum text of a section with a heading such as "Related" that is content nevertheless. */
const MAX_SECTION = 750

/** Drops sections with a heading such as "Related", up to the next heading of its level. */
function dropSections(blocks: Blocks, containers: Int32Array, isShop: boolean): void {
  const { values, end } = blocks.rows
  for (let row = 0; row < end; row += WIDTH) {
    const level = values[row + LEVEL] as number
    if (level === 0 || values[row + KEPT] === 0) continue
    const title = blocks.titleOf(row)
    const isOffer = isShop && OFFER_TITLE.test(title)
    if (!isOffer && !ASIDE_TITLE.test(title)) continue
    let next = row + WIDTH
    let long = 0
    for (; next < end; next += WIDTH) {
      const inner = values[next + LEVEL] as number
      if (inner !== 0 && inner <= level) break
      const text = values[next + BLOCK_TEXT] as number
      if (values[next + KEPT] === 1 && isLong(text, values[next + BLOCK_LINKS] as number)) long += text
    }
    if (long >= MAX_SECTION && !isOffer) continue
    for (let each = row; each < next; each += WIDTH)
      if (!isSure(containers[(values[each + PLACE] as number) + WITHIN] as number)) values[each + KEPT] = 0
  }
}

/** Regions by names that say where the article is. */
const NAMED_REGION = (IS_STATED | IS_BODY | IS_ARTICLE) << CHOSEN
/** Minimum share of all long text in the element that is the article. */
const MIN_PROSE_SHARE = 0.85
/** Minimum share of all long text that is directly in one element of a page with an article. */
const MIN_DIRECT_SHARE = 0.3

/** Keeps the innermost element with nearly all long text of a page where no name says which one the article is. */
function keepProse(blocks: Blocks, containers: Int32Array, last: number): void {
  const { values, end } = blocks.rows
  for (let row = 0; row < last; row += WIDTH) containers[row + PROSE] = 0
  for (let row = 0; row < end; row += WIDTH) {
    const text = values[row + BLOCK_TEXT] as number
    if (values[row + KEPT] === 1 && isLong(text, values[row + BLOCK_LINKS] as number))
      containers[(values[row + PLACE] as number) + PROSE]! += text
  }
  let direct = 0
  for (let row = 0; row < last; row += WIDTH) direct = Math.max(direct, containers[row + PROSE] as number)
  for (let row = last - WIDTH; row > 0; row -= WIDTH)
    containers[(containers[row + PARENT] as number) + PROSE]! += containers[row + PROSE] as number
  const all = containers[PROSE] as number
  if (all < MIN_REGION || direct < MIN_DIRECT_SHARE * all) return
  let inner = 0
  for (let row = WIDTH; row < last; row += WIDTH)
    if ((containers[row + PROSE] as number) >= MIN_PROSE_SHARE * all) inner = row
  for (let row = 0; row < last; row += WIDTH)
    containers[row + PROSE] =
      row === inner || (row > 0 && containers[(containers[row + PARENT] as number) + PROSE] === -1) ? -1 : 0
  for (let row = 0; row < end; row += WIDTH)
    if (values[row + LEVEL] !== 1 && !isIn(containers, values[row + PLACE] as number)) values[row + KEPT] = 0
}

/** Returns whether a container is in the chosen one, or a script moves it there. */
const isIn = (containers: Int32Array, place: number): boolean =>
  containers[place + PROSE] === -1 || ((containers[place + WITHIN] as number) & IS_SEGMENT) !== 0

/** Maximum level of the heading of an article. */
const MAX_HEADING = 2

/**
 * Drops everything from a second article on whose heading is a link, because such a page continues with other articles
 * while the reader scrolls. The heading of the first article is no link, or the page is a list of articles.
 */
function dropNextArticles(blocks: Blocks, containers: Int32Array): void {
  const { values, end } = blocks.rows
  let first = -1
  for (let row = 0; row < end; row += WIDTH) {
    const level = values[row + LEVEL] as number
    if (level === 0 || level > MAX_HEADING) continue
    const article = articleAround(containers, values[row + PLACE] as number)
    const isLink = (values[row + BLOCK_LINKS] as number) > MAX_LINK_SHARE * (values[row + BLOCK_TEXT] as number)
    if (first < 0) {
      if (isLink || article < 0 || (containers[article + LONG] as number) < MIN_REGION) return
      first = article
    } else if (isLink && article >= 0 && article !== first) {
      for (let each = row; each < end; each += WIDTH) values[each + KEPT] = 0
      return
    }
  }
}

/** Returns the outermost article around a container, or -1. */
function articleAround(containers: Int32Array, place: number): number {
  let found = -1
  for (let row = place; row !== 0; row = containers[row + PARENT] as number)
    if (((containers[row + TRAITS] as number) & IS_ARTICLE) !== 0) found = row
  return found
}

/** Drops headings without remaining blocks before the next heading of their level. */
function dropEmptyHeadings(values: Int32Array, end: number): void {
  /** The highest level of the headings since the last block that is content. */
  let above = 0
  let hasContent = false
  for (let row = end - WIDTH; row >= 0; row -= WIDTH) {
    if (values[row + KEPT] === 0) continue
    const level = values[row + LEVEL] as number
    if (level === 0) {
      hasContent = true
      above = 0
    } else if (level > 1 && !hasContent && (above === 0 || level >= above)) values[row + KEPT] = 0
    else {
      hasContent = false
      above = level
    }
  }
}
