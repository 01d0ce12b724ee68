import type { Leaf } from '../writer.js'
import { IS_ARTICLE, IS_ASIDE, IS_FORM, IS_LIST, IS_MAIN, IS_SURE, type Container } from './container.js'
import type { BlockMeasure } from './measure.js'
import { IS_BODY, IS_FURNITURE, IS_REPLIES } from './part-names.js'

/** Properties of a block by which it is recognized as content. */
export interface Block extends BlockMeasure {
  readonly kind: Leaf
  readonly place: Container
  /** The level of a heading, 0 of any other block. */
  readonly level: number
  /** The text of a heading. */
  readonly title: string
}

/** Minimum text of an element for which its name counts. */
const MIN_REGION = 400
const MIN_ARTICLE = 1200
/** Minimum number of words in the content of a page. With fewer the rules were wrong. */
const MIN_WORDS = 100

/** Minimum share of a region's text in an inner region that is chosen instead. */
const MIN_INNER_SHARE = 0.8
/** Minimum text outside comments for a page that consists of more than its comments. */
const MIN_WITHOUT_REPLIES = 300
/** Maximum share of links in the text of a block that is not a block of links. */
const MAX_LINK_SHARE = 0.8

const ASIDE_TITLE =
  /^(?:related|you (?:may|might|could) (?:also|be)|you['’]ll also|more (?:from|on|in|like|stories|articles|posts|news|about|information|to)|recommended|recommendations|comments?\b|\d+ (?:comments|responses|replies)|leave a (?:reply|comment)|post a comment|join the (?:conversation|discussion)|newsletter|subscribe|sign up|get (?:our|the) (?:newsletter|latest)|share\b|latest\b|recent\b|popular\b|trending|most (?:read|popular|viewed)|in this (?:article|section|series)|table of contents|contents$|on this page|read (?:more|next|also)|keep reading|further reading|follow us|about the author|about author|tags?:?$|categories|archives?$|advertisement|sponsored|see also|what to read next|top stories|editor['’]?s['’]? picks|don['’]t miss|up next|explore more|customers (?:also|who)|people also|similar (?:products|posts|articles|items)|frequently bought|recently viewed|discover more|other (?:articles|posts|stories)|next (?:article|post)|previous (?:article|post)|stay (?:connected|informed|up)|contact us|quick links|navigation|search$|menu$|filter|share this|print|featured (?:posts|articles)|also (?:on|in)|was this)/i

/** What a pass finds of a container: bits, and above them the number of regions that contain it. */
const SURE = 1
const FURNITURE = 2
const FLAGS = 3
const REGIONS = 4

const IS_REGION = IS_BODY | IS_ARTICLE | IS_MAIN

interface Region {
  readonly kind: 'body' | 'article' | 'main'
  readonly container: Container
}

/** Decides which blocks are the main content of a page. Results for one part are reused for the next. */
export class MainContent {
  #regions: Region[] = []
  #passes = 0
  #words = 0

  /** Returns whether each block is content. */
  choose(blocks: readonly Block[]): boolean[] {
    this.#findRegions(blocks)
    let kept = this.#apply(blocks, true)
    if (this.#words + wordsIn(blocks, kept) < MIN_WORDS) {
      kept = this.#apply(blocks, false)
      if (this.#words + wordsIn(blocks, kept) < MIN_WORDS) kept = blocks.map(() => true)
    }
    this.#words += wordsIn(blocks, kept)
    return kept
  }

  /** Finds the only body of an article, the only article and the main element of the page, if they exist. */
  #findRegions(blocks: readonly Block[]): void {
    const found = { body: new Set<Container>(), article: new Set<Container>(), main: new Set<Container>() }
    const all = { body: 0, article: 0, main: 0 }
    const pass = ++this.#passes
    for (const { place } of blocks) {
      if (((place.traits | place.above) & IS_REGION) === 0) continue
      for (let at: Container | undefined = place; at !== undefined && at.pass !== pass; at = at.parent) {
        at.pass = pass
        if ((at.traits & IS_REGION) === 0) continue
        if ((at.traits & ~at.above & IS_BODY) !== 0) all.body += at.long
        if ((at.traits & ~at.above & IS_ARTICLE) !== 0) all.article += at.long
        if ((at.traits & IS_BODY) !== 0 && at.long >= MIN_REGION) found.body.add(at)
        if ((at.traits & IS_ARTICLE) !== 0 && at.long >= MIN_ARTICLE) found.article.add(at)
        if ((at.traits & IS_MAIN) !== 0 && at.long >= MIN_REGION) found.main.add(at)
      }
    }
    for (const kind of ['body', 'article', 'main'] as const) {
      if (this.#regions.some((region) => region.kind === kind)) continue
      const outer = [...found[kind]].filter((each) => !hasAbove(each, (above) => found[kind].has(above)))
      const [container] = outer
      // One of many articles, as in a forum, is not the content of the page.
      if (outer.length !== 1 || container === undefined || container.long <= 0.5 * all[kind]) continue
      let inner = container
      for (const each of found[kind])
        if (each.depth > inner.depth && each.long >= MIN_INNER_SHARE * container.long) inner = each
      this.#regions.push({ kind, container: inner })
    }
  }

  /** Returns whether the page has enough text without its comments and reviews. */
  #hasMoreThanReplies(blocks: readonly Block[]): boolean {
    let text = 0
    for (const block of blocks) if (isLong(block) && !isReply(block.place)) text += block.text
    return text >= MIN_WITHOUT_REPLIES
  }

  #apply(blocks: readonly Block[], strict: boolean): boolean[] {
    const regions = strict ? this.#regions : this.#regions.filter(({ kind }) => kind === 'main')
    const dropsReplies = strict && this.#hasMoreThanReplies(blocks)
    const pass = ++this.#passes
    const verdictOf = (place: Container): number => {
      if (place.pass === pass) return place.verdict
      const above = place.parent === undefined ? 0 : verdictOf(place.parent)
      let verdict = above & ~FLAGS
      for (const { container } of regions) if (container === place) verdict += REGIONS
      if ((place.traits & IS_SURE) !== 0 || (above & SURE) !== 0) verdict |= SURE
      else if (
        (above & FURNITURE) !== 0 ||
        isFurniture(place, strict) ||
        (dropsReplies && (place.traits & IS_REPLIES) !== 0)
      )
        verdict |= FURNITURE
      place.pass = pass
      place.verdict = verdict
      return verdict
    }
    const inAll = regions.length * REGIONS
    const kept = blocks.map((block) => {
      const verdict = verdictOf(block.place)
      if ((verdict & SURE) !== 0) return true
      if ((verdict & FURNITURE) !== 0) return false
      if (verdict < inAll) return block.level === 1
      if (block.text === 0 && block.level === 0 && block.kind !== 'fence' && !isIllustration(block.place)) return false
      const isLinks = block.links > MAX_LINK_SHARE * block.text && block.text > 0
      return !isLinks || block.level > 0 || block.kind === 'table'
    })
    if (strict) dropSections(blocks, kept)
    dropShort(blocks, kept)
    dropEmptyHeadings(blocks, kept)
    return kept
  }
}

const wordsIn = (blocks: readonly Block[], kept: readonly boolean[]): number =>
  blocks.reduce((sum, block, at) => (kept[at] === true ? sum + block.words : sum), 0)

const isSure = ({ traits, above }: Container): boolean => ((traits | above) & IS_SURE) !== 0

const isReply = ({ traits, above }: Container): boolean => ((traits | above) & IS_REPLIES) !== 0

function hasAbove(container: Container, test: (above: Container) => boolean): boolean {
  for (let at = container.parent; at !== undefined; at = at.parent) if (test(at)) return true
  return false
}

/** Maximum distance, in containers, between an image and the text that it illustrates. */
const NEAR = 2
const MIN_ILLUSTRATED = 300

function isIllustration(place: Container): boolean {
  let at: Container | undefined = place
  for (let up = 0; up < NEAR && at !== undefined; up++, at = at.parent) if (at.long >= MIN_ILLUSTRATED) return true
  return false
}

/** Returns whether a container is a part of the page that is not content, by its name and its contents. */
function isFurniture({ traits, long, text, links, name }: Container, strict: boolean): boolean {
  const share = text === 0 ? 0 : links / text
  if ((traits & IS_LIST) !== 0 && share > 0.6) return true
  if ((traits & IS_ASIDE) !== 0 && long < 1000) return true
  if ((traits & IS_FORM) !== 0 && long < 200) return true
  if (!strict || (traits & IS_FURNITURE) === 0 || (traits & (IS_MAIN | IS_ARTICLE | IS_BODY)) !== 0) return false
  return !/^h[1-6]$/.test(name) && (long < 80 || share > 0.6)
}

/** Minimum text of a section with a heading such as "Related" that is content nevertheless. */
const MAX_SECTION = 600

/** Drops sections with a heading such as "Related", up to the next heading of its level. */
function dropSections(blocks: readonly Block[], kept: boolean[]): void {
  for (let at = 0; at < blocks.length; at++) {
    const { level, title } = blocks[at] as Block
    if (level === 0 || kept[at] !== true || !ASIDE_TITLE.test(title)) continue
    let end = at + 1
    let long = 0
    while (end < blocks.length && ((blocks[end] as Block).level === 0 || (blocks[end] as Block).level > level)) {
      const block = blocks[end++] as Block
      if (kept[end - 1] === true && isLong(block)) long += block.text
    }
    if (long >= MAX_SECTION) continue
    for (let each = at; each < end; each++) if (!isSure((blocks[each] as Block).place)) kept[each] = false
  }
}

/** Returns whether a block is text of some length that is not links. */
export const isLong = ({ text, links }: { text: number; links: number }): boolean => text > 60 && links < 0.3 * text

/** Drops blocks of one or two words between blocks that are short or dropped themselves. */
function dropShort(blocks: readonly Block[], kept: boolean[]): void {
  const isShort = (at: number) => at < 0 || at >= blocks.length || kept[at] !== true || (blocks[at] as Block).words < 5
  for (const [at, { words, level, kind, text }] of blocks.entries())
    if (kept[at] === true && words < 2 && text > 0 && level === 0 && kind !== 'fence' && kind !== 'table')
      if (isShort(at - 1) && isShort(at + 1)) kept[at] = false
}

/** Drops headings without remaining blocks before the next heading of their level. */
function dropEmptyHeadings(blocks: readonly Block[], kept: boolean[]): void {
  /** The highest level of the headings since the last block that is content. */
  let above = 0
  let hasContent = false
  for (let at = blocks.length - 1; at >= 0; at--) {
    if (kept[at] !== true) continue
    const { level } = blocks[at] as Block
    if (level === 0) {
      hasContent = true
      above = 0
    } else if (level > 1 && !hasContent && (above === 0 || level >= above)) kept[at] = false
    else {
      hasContent = false
      above = level
    }
  }
}
