import type { Skip, Tag } from '../text/events.js'
import { Page } from '../page/page.js'
import { attributeBits, elementNamed, KNOWN_NAMES } from '../text/names.js'
import { withoutAside } from './choose.js'
import { MainWriter } from './main-writer.js'
import { IS_ARTICLE, IS_HIDDEN, IS_MAIN, isFollowed } from './traits.js'

const ARIA_HIDDEN = attributeBits('aria-hidden')
const DIVISION = elementNamed('div').id
const SUPERSCRIPT = elementNamed('sup').id
const BODY = elementNamed('body').id
/** Elements that say something about the page, by their position in the table of names. */
const SAYS = new Uint8Array(KNOWN_NAMES + 1)
SAYS[SUPERSCRIPT] = SAYS[BODY] = 1
/** Classes of the body by which shop software names the page of one product. */
const PRODUCT_PAGE = /(?:^|\s)(?:single-product|template-product|product-template|catalog-product-view)(?:\s|$)/
/** Open Graph: `og:type` of a product. */
const OG_TYPE = /^og:type$/i
const OG_PRODUCT = /^(?:og:)?product(?:\.(?:item|group))?$/i
/** Open Graph: a property of a product, such as its price. */
const OG_PROPERTY = /^product:(?:price|retailer|availability|brand)/i
/** Microdata: the element is a product. A page of one product has one such element. */
const ITEM_TYPE = attributeBits('itemtype')
const PRODUCT_ITEM = /^\s*https?:\/\/(?:www\.)?schema\.org\/(?:Product|ProductGroup|IndividualProduct)\s*$/i
/** Types of JSON-LD, as in schema.org. */
const PRODUCT_TYPE = /"@type"\s*:\s*(?:\[\s*)?"Product(?:Group)?"/
const LIST_TYPE = /"@type"\s*:\s*"(?:ItemList|CollectionPage)"/

/** Converts only the main content of a page. */
export class MainPage extends Page {
  readonly #writer = this.writer as MainWriter
  readonly #containers = this.#writer.containers

  protected override newWriter(): MainWriter {
    return new MainWriter()
  }

  /** Creates a page whose content is all written. One of another class would make each use of a page slower. */
  protected override newPage(): MainPage {
    const page = new MainPage(this)
    page.#writer.writeAll()
    return page
  }

  override open(tag: Tag): Skip | void {
    if (SAYS[tag.id] === 1 || (tag.attributeBits & ITEM_TYPE) !== 0) this.#note(tag)
    const isSkipped = super.open(tag)
    if (isSkipped === 'skip' && (tag.attributeBits & ARIA_HIDDEN) !== 0 && this.#mayBeContent(tag)) {
      this.boundary()
      this.#containers.open(tag, IS_HIDDEN)
      return undefined
    }
    if (isSkipped === undefined && isFollowed(tag.id) && this.#followsContainers) this.#containers.open(tag)
    return isSkipped
  }

  /** Reads what a start tag says about the page. */
  #note(tag: Tag): void {
    const { shop } = this.#writer
    if (tag.id === SUPERSCRIPT) this.#writer.hasSuperscripts = true
    else if (tag.id === BODY) shop.isPageOfProduct ||= PRODUCT_PAGE.test(tag.attribute('class') ?? '')
    if (PRODUCT_ITEM.test(tag.attribute('itemtype') ?? '')) shop.items++
  }

  /**
   * Returns whether a hidden element may be all that the page has, such as a letter that a script opens. This is an
   * element at the start of the main part that is hidden from aids only.
   */
  #mayBeContent(tag: Tag): boolean {
    return (
      tag.id === DIVISION &&
      !this.#writer.hasLong &&
      this.#followsContainers &&
      this.aside === undefined &&
      this.callout === undefined &&
      this.table === undefined &&
      tag.attribute('role') === undefined &&
      tag.attribute('hidden') === undefined &&
      tag.attribute('style') === undefined &&
      this.#containers.isIn(IS_MAIN | IS_ARTICLE)
    )
  }

  protected override readHead(tag: Tag): void {
    super.readHead(tag)
    const property = tag.name === 'meta' ? tag.attribute('property') : undefined
    if (property === undefined) return
    const isProduct = OG_TYPE.test(property)
      ? OG_PRODUCT.test(tag.attribute('content') ?? '')
      : OG_PROPERTY.test(property)
    if (isProduct) this.#writer.shop.hasProduct = true
  }

  protected override readJsonLd(script: string): void {
    super.readJsonLd(script)
    const { shop } = this.#writer
    shop.hasProduct ||= PRODUCT_TYPE.test(script)
    shop.hasList ||= LIST_TYPE.test(script)
  }

  override close(name: string, id: number, isStray = false): void {
    const follows = isFollowed(id) && this.#followsContainers
    super.close(name, id, isStray)
    if (follows) this.#containers.close(id)
  }

  protected override takeLine(): string {
    const markdown = super.takeLine()
    const { line, table } = this
    if (this.footnotes !== undefined) this.#writer.hasMarks = true
    if (markdown !== '' && (table === undefined || table.state === 'layout'))
      this.#writer.measured(line.characters, line.linked)
    line.characters = line.linked = 0
    return markdown
  }

  /** Returns whether tags belong to the page itself, not to code or to a `noscript`. */
  get #followsContainers(): boolean {
    return this.noscript === undefined && this.preformatted === undefined && this.script === undefined
  }

  protected override usesNote(label: string): boolean {
    return this.#writer.usesNote(label)
  }

  /** Writes a `noscript` whose content replaces the output of scripts. */
  protected override writeNoscript(markdown: string): void {
    this.#containers.beginSure()
    super.writeNoscript(withoutAside(markdown))
    this.#containers.endSure()
  }
}
