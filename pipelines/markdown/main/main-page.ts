import type { Skip, Tag } from '../events.js'
import { Page } from '../page.js'
import { ContainerNames, IS_SURE, isFollowed, type Container } from './container.js'
import { MainWriter } from './main-writer.js'

/** Maximum depth of containers that are followed; contents of deeper ones count for the last. */
const MAX_DEPTH = 64

/** Maximum number of elements in which an end tag searches for its element. */
const MAX_LOOK = 40

const HEADING = /^h[1-6]$/

/** A page of which only the main content is converted. */
export class MainPage extends Page {
  readonly #blocks = this.writer as MainWriter
  readonly #names = new ContainerNames()

  protected override newWriter(): MainWriter {
    return new MainWriter()
  }

  override open(tag: Tag): Skip | void {
    const isSkipped = super.open(tag)
    if (isSkipped === undefined && isFollowed(tag.id) && this.#followsContainers) this.#push(tag)
    return isSkipped
  }

  override close(name: string, id: number, isStray = false): void {
    const follows = this.#followsContainers
    super.close(name, id, isStray)
    if (follows && isFollowed(id)) this.#pop(name)
  }

  /** Returns whether tags are those of the page itself, not of code or of a `noscript`. */
  get #followsContainers(): boolean {
    return this.noscript === undefined && this.preformatted === undefined && this.script === undefined
  }

  #push(tag: Tag): void {
    const { name } = tag
    const { place } = this.#blocks
    // These are ended by each other, without end tags.
    if (
      place.name === 'p' ||
      (name === 'li' && place.name === 'li') ||
      (HEADING.test(name) && HEADING.test(place.name))
    )
      this.#blocks.place = place.parent ?? place
    const parent = this.#blocks.place
    if (parent.depth >= MAX_DEPTH) return
    const traits = this.#names.traitsOf(tag)
    this.#blocks.place = { name, parent, depth: parent.depth + 1, traits, text: 0, links: 0, long: 0 }
  }

  #pop(name: string): void {
    let at: Container | undefined = this.#blocks.place
    for (let looked = 0; at !== undefined && looked < MAX_LOOK; looked++, at = at.parent) {
      if (at.name === name && at.parent !== undefined) {
        this.#blocks.place = at.parent
        return
      }
    }
  }

  /** Writes a `noscript` that is content in place of what scripts would show. */
  protected override writeNoscript(markdown: string): void {
    const { place } = this.#blocks
    const { depth } = place
    this.#blocks.place = { name: 'noscript', parent: place, depth, traits: IS_SURE, text: 0, links: 0, long: 0 }
    super.writeNoscript(markdown)
    this.#blocks.place = place
  }
}
