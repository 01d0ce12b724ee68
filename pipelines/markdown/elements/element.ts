import type { Skip, Tag } from '../events.js'
import type { Page } from '../page.js'

/** What a family of elements means in Markdown. A tag without a family leaves no trace, its contents stay. */
export interface Family {
  readonly names: readonly string[]
  /** The start tag. `skip` leaves out the element with all it holds. */
  open?(this: void, page: Page, tag: Tag): Skip | void
  /** The end tag, whether or not there was a start tag. */
  close?(this: void, page: Page, name: string): void
}

/** The names in a text. */
export const words = (text: string): string[] => text.trim().split(/\s+/)

/** Elements whose end tag ends what they hold, even what was not ended itself. */
export const CONTAINERS: ReadonlySet<string> = new Set(
  words(`div p td th tr table li ul ol dl dd blockquote section article main aside details figure body html`),
)
