import { lengthOf } from '../text/characters.js'
import { BLOCK_TEXT, KEPT, LEVEL, type Blocks } from './blocks.js'
import { WIDTH } from './rows.js'

/** Titles of sections that the page of a product has. */
const REVIEWS = /^(?:(?:customer|verified|user|product)\s+)?(?:reviews?|ratings?)\b/i
const FACTS =
  /^(?:(?:product|technical|key|tech)\s+)?(?:specifications?|specs|details|features|dimensions|description)\W*$/i
/** First letters of such titles, or of their marks. */
const REVIEW_LETTERS = 'rcvupRCVUP*_['
const FACT_LETTERS = 'ptksdfPTKSDF*_['
/** A price alone in its block. */
const PRICE = /^[\W_]{0,4}(?:[$€£¥₹]|USD|EUR|GBP)\s?\d[\d.,]*|^\W{0,3}\d[\d.,]*\s?(?:[€£]|USD|EUR|zł|kr)(?:\W|$)/
/** Maximum text of a block with a price, and of a part that an offer repeats. */
const MAX_PRICE = 40
const MAX_OFFER = 60
/** Minimum number of equal blocks for repeated offers. */
const MIN_OFFERS = 3
const MAX_MARKDOWN = 1000

/** What a page says about products. Only a page about one product is cut as a page of a shop. */
export class Shop {
  /** The class of the body says that the page is about one product. */
  isPageOfProduct = false
  /** Metadata or JSON-LD has a product, or a list of things. */
  hasProduct = false
  hasList = false
  /** Number of elements that are products by their microdata. */
  items = 0

  /** Returns whether the page sells one product. */
  sellsOne(blocks: Blocks): boolean {
    if (this.isPageOfProduct) return true
    if (this.hasList || this.items > 1) return false
    return this.hasProduct || this.items === 1 || hasSectionsOfProduct(blocks)
  }
}

/** Returns whether a heading matches a pattern, whose first letters are known. A pattern takes longer than a letter. */
function hasTitle(blocks: Blocks, pattern: RegExp, letters: string): boolean {
  const { values, end } = blocks.rows
  for (let row = 0; row < end; row += WIDTH) {
    const level = values[row + LEVEL] as number
    if (level === 0) continue
    const title = blocks.contents[row / WIDTH] as string
    if (
      lengthOf(title) > level + 1 &&
      letters.includes(title[level + 1] as string) &&
      pattern.test(blocks.titleOf(row))
    )
      return true
  }
  return false
}

/** Returns whether a page has a price and sections with reviews and with facts of a product. */
function hasSectionsOfProduct(blocks: Blocks): boolean {
  const { values, end } = blocks.rows
  if (!hasTitle(blocks, REVIEWS, REVIEW_LETTERS) || !hasTitle(blocks, FACTS, FACT_LETTERS)) return false
  for (let row = 0; row < end; row += WIDTH)
    if ((values[row + BLOCK_TEXT] as number) <= MAX_PRICE && PRICE.test(blocks.markdownOf(row))) return true
  return false
}

/** A link or a line that puts something into the cart. */
const TO_CART =
  /(?:^\W*|\[[*_]*)(?:add (?:it |this )?to (?:my |your )?(?:cart|bag|basket|trolley|wish ?list|favou?rites)|buy (?:it )?now|pre-?order now|shop now|out of stock|sold out|notify me)[*_!.]*(?:\]\(|\W*$)/i

/** Drops short blocks that other offers on the page repeat, such as a price beside a button. */
export function dropOffers(blocks: Blocks): void {
  const { values, end } = blocks.rows
  const counts = new Map<string, number>()
  for (let row = 0; row < end; row += WIDTH)
    if (mayBeOffer(blocks, row)) {
      const markdown = blocks.markdownOf(row)
      counts.set(markdown, (counts.get(markdown) ?? 0) + 1)
    }
  for (let row = 0; row < end; row += WIDTH)
    if (values[row + KEPT] === 1 && mayBeOffer(blocks, row)) {
      const markdown = blocks.markdownOf(row)
      if (TO_CART.test(markdown) || (counts.get(markdown) ?? 0) >= MIN_OFFERS) values[row + KEPT] = 0
    }
}

function mayBeOffer(blocks: Blocks, row: number): boolean {
  const { values } = blocks.rows
  const text = values[row + BLOCK_TEXT] as number
  return (
    text > 1 &&
    text <= MAX_OFFER &&
    values[row + LEVEL] !== 1 &&
    !blocks.isInside(row) &&
    lengthOf(blocks.markdownOf(row)) <= MAX_MARKDOWN
  )
}
