import type { Tag } from '../text/events.js'
import { attributeBits } from '../text/names.js'

/** Maximum number of notes of a page. Marks of further notes stay links. */
const MAX_NOTES = 1000

/** Maximum number of marks whose elements are remembered, to recognize links back to them. */
const MAX_MARK_IDS = 4000

/** Maximum characters of all notes that are written at the end of a page. Further ones are text at their place. */
const MAX_SIDE_NOTES = 256 * 1024

const NUMBER_SIGN = 0x23

/** Fragments of the marks of generators, which links back have. */
export const MARK_TARGET =
  /^#(?:[\w.-]*?[-_.])?(?:fnref|ftnt_?ref|fnanchor|fn-?back|footnote-?ref|footnote-anchor|footnoteref|cite_ref|noteref|backlink|ref-?fn)/i

/** Text of a mark: a number, a letter, or a symbol, in brackets or not. */
export const MARK_TEXT =
  /^\s*[[(]?\s*(?:(\d{1,4}|[a-z]{1,2}|[ivxl]{1,5})(?::\d+)?|note (\d{1,4}|[a-z])|[*†‡§¶]{1,3})\s*[\])]?\s*$/iu

/** Classes of links back and of their wrappers. */
const BACK_CLASS =
  /(?:^|[\s_-])(?:(?:footnote-?)?back-?(?:ref|link)s?|reversefootnote|footnote-back|mw-cite-backlink|footnote-return)(?=\s|$)/i

/** Classes of the number before a note. */
const LABEL_CLASS = /(?:^|\s)(?:label|footnote-number|fn-label|note-number)(?=\s|$)/

export const ID_BIT = attributeBits('id', 'name')

const nameOf = (tag: Tag): string | undefined => (tag.name === 'a' ? tag.attribute('name') : undefined)

const BACK_BITS = attributeBits('class', 'role', 'data-footnote-backref', 'rev')

/** The notes that marks of a page name, in order of their first marks. */
export class Footnotes {
  /** The label of each note by its id, and the labels in use. */
  readonly #labels = new Map<string, string>()
  readonly #used = new Set<string>()
  /** Ids of marks. */
  readonly #marks = new Set<string>()
  /** Notes that have not been found in the page, with the link that their mark was. */
  readonly #missing = new Map<string, string>()
  /** Notes that the page has at the place of their mark, with their labels. They are written at the end. */
  readonly #side: { readonly label: string; readonly markdown: string }[] = []
  #sideLength = 0
  /** The label of a term whose definition is its note. */
  label = ''
  /** Whether the open note began inside of a paragraph, and ends with the paragraph. */
  isInParagraph = false

  /** Returns the label of a note for a mark with this text. Undefined if there are too many notes. */
  labelFor(target: string, text: string, link: string): string | undefined {
    const known = this.#labels.get(target)
    if (known !== undefined) return known
    if (this.#labels.size >= MAX_NOTES) return undefined
    const parts = MARK_TEXT.exec(text)
    let label = (parts?.[1] ?? parts?.[2] ?? '').toLowerCase()
    for (let next = this.#labels.size + 1; label === '' || this.#used.has(label); next++) label = String(next)
    this.#used.add(label)
    this.#labels.set(target, label)
    this.#missing.set(target, link)
    return label
  }

  /** Adds a note that is at the place of its mark. Returns its label. Undefined if there are too many notes. */
  addSide(markdown: string): string | undefined {
    if (this.#sideLength + markdown.length > MAX_SIDE_NOTES) return undefined
    const target = `\n${this.#side.length}`
    const label = this.labelFor(target, '', '')
    if (label === undefined) return undefined
    this.#missing.delete(target)
    this.#sideLength += markdown.length
    this.#side.push({ label, markdown })
    return label
  }

  /** Returns whether a tag begins a note that a mark names and that was not found yet. */
  isAwaited(tag: Tag): boolean {
    return (tag.attributeBits & ID_BIT) !== 0 && this.#missing.has(tag.attribute('id') ?? '')
  }

  /** Remembers the id of a mark. */
  addMark(id: string | undefined): void {
    if (id !== undefined && id !== '' && this.#marks.size < MAX_MARK_IDS) this.#marks.add(id)
  }

  /** Returns the label of the note that a tag begins, and counts the note as found. Undefined if it begins none. */
  labelOf(tag: Tag): string | undefined {
    const id = (tag.attributeBits & ID_BIT) === 0 ? undefined : (tag.attribute('id') ?? nameOf(tag))
    if (id === undefined || !this.#missing.delete(id)) return undefined
    return this.#labels.get(id)
  }

  /** Remembers the label of a term that is the number of a note. Returns whether it is one. */
  beginTerm(tag: Tag): boolean {
    const label = this.labelOf(tag)
    if (label === undefined) return false
    this.label = label
    return true
  }

  /** Returns whether a tag inside a note is not part of the text of the note. */
  isLeftOut(tag: Tag): boolean {
    return this.isBack(tag) || (tag.name === 'span' && LABEL_CLASS.test(tag.attribute('class') ?? ''))
  }

  /** Returns whether a tag is a link back to a mark, or contains such links. */
  isBack(tag: Tag): boolean {
    if (
      (tag.attributeBits & BACK_BITS) !== 0 &&
      (tag.attribute('role') === 'doc-backlink' ||
        tag.attribute('data-footnote-backref') !== undefined ||
        BACK_CLASS.test(tag.attribute('class') ?? ''))
    )
      return true
    const href = tag.name === 'a' ? tag.attribute('href') : undefined
    if (href === undefined || href.charCodeAt(0) !== NUMBER_SIGN) return false
    return this.#marks.has(href.slice(1)) || MARK_TARGET.test(href)
  }

  /** Returns the notes that are written at the end, and the notes that the page does not have, so that no mark dangles. */
  rest(isUsed: (label: string) => boolean): string {
    const lines: string[] = []
    for (const { label, markdown } of this.#side)
      if (isUsed(label)) lines.push(`[^${label}]: ${markdown.replaceAll(/\n(?!\n)/g, '\n    ')}`)
    for (const [target, link] of this.#missing) {
      const label = this.#labels.get(target) as string
      if (isUsed(label)) lines.push(`[^${label}]: ${link}`)
    }
    return lines.join('\n')
  }
}
