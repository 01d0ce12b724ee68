import type { Skip, Tag } from '../events.js'
import { KNOWN_NAMES } from '../names.js'
import { Page } from '../page.js'
import { addUpTo, Container, endsAt, IS_SURE, isFollowed, traitsOf } from './container.js'
import { MainWriter } from './main-writer.js'

/** Maximum depth of containers that are followed; contents of deeper ones count for the last. */
const MAX_DEPTH = 64

/** Maximum number of elements in which an end tag searches for its element. */
const MAX_LOOK = 40

/** A page of which only the main content is converted. */
export class MainPage extends Page {
  readonly #blocks = this.writer as MainWriter

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
    const { place } = this.#blocks
    if (place.parent !== undefined && endsAt(place, tag.id)) this.#leave(place.parent)
    const parent = this.#blocks.place
    if (parent.depth >= MAX_DEPTH) return
    this.#blocks.place = new Container(tag.name, tag.id, parent, parent.depth + 1, traitsOf(tag))
  }

  #leave(outer: Container): void {
    addUpTo(outer, this.#blocks.place)
    this.#blocks.place = outer
  }

  #pop(name: string): void {
    let at: Container | undefined = this.#blocks.place
    for (let looked = 0; at !== undefined && looked < MAX_LOOK; looked++, at = at.parent) {
      if (at.name === name && at.parent !== undefined) {
        this.#leave(at.parent)
        return
      }
    }
  }

  /** Writes a `noscript` that is content in place of what scripts would show. */
  protected override writeNoscript(markdown: string): void {
    const { place } = this.#blocks
    this.#blocks.place = new Container('noscript', KNOWN_NAMES, place, place.depth, IS_SURE)
    super.writeNoscript(markdown)
    this.#leave(place)
  }
}
