import { MarkdownConverter } from './convert.js'
import { DROPPED, isHidden } from './elements/left-out.js'
import type { Skip, Tag } from './text/events.js'
import { Page } from './page/page.js'
import { HtmlTokenizer } from './html/tokenizer.js'

/** Parts of a page that its Markdown does not have. */
export interface LeftOut {
  /** The tag with an identifying attribute, `<div class="modal">`, or the begin of the Markdown of a block. */
  readonly what: string
  readonly reason: string
  readonly count: number
}

/** Maximum number of entries. */
const MAX_ENTRIES = 100
const MAX_SHOWN = 80
const IDENTIFYING = ['id', 'class', 'role', 'hidden', 'aria-hidden', 'style', 'type'] as const

/** Collects the elements that a page does not write. */
class ReportingPage extends Page {
  readonly found = new Map<string, LeftOut>()

  override open(tag: Tag): Skip | void {
    const what = shown(tag)
    const reason = reasonOf(tag)
    const skip = super.open(tag)
    if (skip === 'skip') this.#add(what, reason)
    return skip
  }

  #add(what: string, reason: string): void {
    const key = `${what} ${reason}`
    const known = this.found.get(key)
    if (known === undefined && this.found.size >= MAX_ENTRIES) return
    this.found.set(key, { what, reason, count: (known?.count ?? 0) + 1 })
  }
}

function shown(tag: Tag): string {
  const attributes = IDENTIFYING.flatMap((name) => {
    const value = tag.attribute(name)
    return value === undefined ? [] : value === '' ? [` ${name}`] : [` ${name}="${value}"`]
  })
  return cut(`<${tag.name}${attributes.join('')}>`)
}

function reasonOf(tag: Tag): string {
  if (tag.name === 'script') return 'scripts are not content'
  if (isHidden(tag)) return tag.attribute('role') === undefined ? 'hidden from readers' : 'its role is not content'
  if (tag.name === 'header') return 'header of the whole page'
  if (tag.name === 'button') return 'controls are not content'
  if (DROPPED.has(tag.name)) return `${tag.name} is never content`
  return 'not shown by browsers'
}

const cut = (text: string): string => (text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN - 1)}…` : text)

/**
 * Returns the content of an HTML page that is missing in its Markdown. This is skipped elements, and for the main
 * content also the blocks outside it. Each list has at most 100 entries.
 */
export function leftOut(html: string, content: 'page' | 'main'): LeftOut[] {
  const page = new ReportingPage()
  const tokenizer = new HtmlTokenizer(page)
  tokenizer.write(html)
  tokenizer.end()
  page.end()
  const elements = [...page.found.values()]
  return content === 'main' ? [...elements, ...outside(html)] : elements
}

/** Returns the blocks of the page that are not part of its main content. */
function outside(html: string): LeftOut[] {
  const blocks = (content: 'page' | 'main') =>
    new MarkdownConverter({ content, links: false }).convert(html).split(/\n{2,}/)
  const main = new Set(blocks('main'))
  return blocks('page')
    .filter((block) => block.trim() !== '' && !main.has(block))
    .slice(0, MAX_ENTRIES)
    .map((block) => ({ what: cut(block.replaceAll(/\s+/g, ' ').trim()), reason: 'outside the main content', count: 1 }))
}
