import { joinLines } from '../text/characters.js'
import { fenceFor } from './escape.js'

/** Returns whether a script's `type` is JSON-LD. */
export const isJsonLd = (type: string | undefined): boolean =>
  type !== undefined && /^\s*application\/ld\+json\s*(?:;|$)/i.test(type)

/** JSON-LD of a page, with every script on a separate line, all in one fenced block. */
export class JsonLd {
  readonly #lines: string[] = []

  add(script: string): void {
    const line = joinLines(script.trim())
    if (line !== '') this.#lines.push(line)
  }

  /** Returns the block, '' without any scripts. */
  toString(): string {
    if (this.#lines.length === 0) return ''
    const text = this.#lines.join('\n')
    const fence = fenceFor(text)
    return `${fence}json\n${text}\n${fence}`
  }
}
