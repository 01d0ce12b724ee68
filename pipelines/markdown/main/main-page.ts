import type { Skip, Tag } from '../text/events.js'
import { Page } from '../page/page.js'
import { MainWriter } from './main-writer.js'
import { isFollowed } from './traits.js'

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
    const isSkipped = super.open(tag)
    if (isSkipped === undefined && isFollowed(tag.id) && this.#followsContainers) this.#containers.open(tag)
    return isSkipped
  }

  override close(name: string, id: number, isStray = false): void {
    const follows = isFollowed(id) && this.#followsContainers
    super.close(name, id, isStray)
    if (follows) this.#containers.close(id)
  }

  protected override takeLine(): string {
    const markdown = super.takeLine()
    const { line, table } = this
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
    super.writeNoscript(markdown)
    this.#containers.endSure()
  }
}
