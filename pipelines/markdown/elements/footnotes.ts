import type { Skip, Tag } from '../text/events.js'
import { attributeBits, CONTAINERS, type Aside, type ElementPage } from './element.js'
import type { Role } from './roles.js'

/** Maximum number of notes of a page. Marks of further notes stay links. */
const MAX_NOTES = 1000

/** Maximum characters of the text of a mark. A longer text is that of a link. */
const MAX_MARK = 12

/** Maximum number of marks whose elements are remembered, to recognize links back to them. */
const MAX_MARK_IDS = 4000

const NUMBER_SIGN = 0x23

/** Classes of marks, and of elements around them. */
const MARK_CLASS =
  /(?:^|[\s_-])(?:footnote-?ref(?:erence)?|noteref|footnote-anchor|fn-?ref|easy-footnote|footnote-link|footnote|reference|fn)(?=\s|$)/i

/** Fragments of the notes of generators. */
const NOTE_TARGET =
  /^#(?:[\w.-]*?[-_.])?(?:fn|fnote|note|footnote|footnotedef|endnote|cite_note|easy-footnote(?:-bottom)?)(?:[-_:.]+|(?=\d))[\w:.%-]+$/i

/** Fragments of the marks of generators, which links back have. */
const MARK_TARGET =
  /^#(?:[\w.-]*?[-_.])?(?:fnref|fn-?back|footnote-?ref|footnote-anchor|footnoteref|cite_ref|noteref|backlink|ref-?fn)/i

/** Text of a mark: a number, a letter, or a symbol, in brackets or not. */
const MARK_TEXT = /^\s*[[(]?\s*(?:(\d{1,4}|[a-z]{1,2}|[ivxl]{1,5})(?::\d+)?|note (\d{1,4}|[a-z])|[*†‡§¶]{1,3})\s*[\])]?\s*$/iu

/** Classes of links back and of their wrappers. */
const BACK_CLASS =
  /(?:^|[\s_-])(?:(?:footnote-?)?back-?(?:ref|link)s?|reversefootnote|footnote-back|mw-cite-backlink|footnote-return)(?=\s|$)/i

/** Text of a link back, which is dropped: arrows, carets and letters. */
export const BACK_TEXT = /^[\s()[\],;.]*(?:[↩↑⤴⏎↵⇧^]\ufe0e?\ufe0f?[\s\d]*|back|return|jump up|[a-z]|\d{1,3}(?:\.\d+)?)[\s()[\],;.]*$/iu

/** Heading of a section of notes. It is dropped if a note is the next content. */
export const NOTES_TITLE =
  /^(?:\*\*)?(?:foot ?notes?|end ?notes?|notes?|references?|notes and references|fußnoten|einzelnachweise|anmerkungen|notes et références|références|notas|referencias|note|riferimenti|voetnoten|bronnen|przypisy|примечания|注释|参考资料|脚注|出典)(?:\*\*)?:?$/iu

const ID_BIT = attributeBits('id')
const MARK_BITS = attributeBits('class', 'role', 'data-footnote-ref', 'data-fn', 'epub:type')
const BACK_BITS = attributeBits('class', 'role', 'data-footnote-backref', 'rev')

/** Returns whether a tag has the attributes of a mark. */
const isMark = (tag: Tag): boolean =>
  (tag.attributeBits & MARK_BITS) !== 0 &&
  (tag.attribute('data-footnote-ref') !== undefined ||
    tag.attribute('role') === 'doc-noteref' ||
    tag.attribute('epub:type') === 'noteref' ||
    MARK_CLASS.test(tag.attribute('class') ?? ''))

/** Classes of the number before a note. */
const LABEL_CLASS = /(?:^|\s)(?:label|footnote-number|fn-label|note-number)(?=\s|$)/

/** The notes that marks of a page name, in order of their first marks. */
export class Footnotes {
  /** The label of each note by its id, and the labels in use. */
  readonly #labels = new Map<string, string>()
  readonly #used = new Set<string>()
  /** Ids of marks. */
  readonly #marks = new Set<string>()
  /** Notes that have not been found in the page, with the link that their mark was. */
  readonly #missing = new Map<string, string>()
  /** The label of a term whose definition is its note. */
  label = ''

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

  /** Remembers the id of a mark. */
  addMark(id: string | undefined): void {
    if (id !== undefined && id !== '' && this.#marks.size < MAX_MARK_IDS) this.#marks.add(id)
  }

  /** Returns the label of the note that a tag begins, and counts the note as found. Undefined if it begins none. */
  labelOf(tag: Tag): string | undefined {
    const id = (tag.attributeBits & ID_BIT) === 0 ? undefined : tag.attribute('id')
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

  /** Adds a note that is part of the text, and returns its label. */
  add(text: string): string | undefined {
    return this.labelFor(`\0${this.#labels.size}`, '', text)
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

  /** Returns the notes that the page does not have, so that no mark dangles. */
  rest(): string {
    const lines: string[] = []
    for (const [target, link] of this.#missing) lines.push(`[^${this.#labels.get(target)}]: ${link}`)
    return lines.join('\n')
  }
}

/** Returns the notes of a page, which exist from its first mark on. */
const notesOf = (page: ElementPage): Footnotes => (page.footnotes ??= new Footnotes())

/**
 * Begins a mark at a link to `href`, if its attributes, or its target, are those of a mark. Returns whether it did.
 * `link` writes the link if its text is not that of a mark.
 */
export function beginMark(page: ElementPage, tag: Tag, href: string): boolean {
  if (page.heading > 0 && !isMark(tag)) return false
  if (href.length < 3 || page.table?.isWrapper === true) return false
  if (page.inNote && page.footnotes?.isBack(tag) === true) return false
  if (!isMark(tag) && !NOTE_TARGET.test(href)) return false
  if (MARK_TARGET.test(href)) return false
  page.endAside()
  page.aside = new Mark(page, 'a', tag.attribute('id'), href)
  return true
}

/** Begins a mark at a `sup` with the class of a mark. Returns whether it did. */
export function beginSuperscript(page: ElementPage, tag: Tag): boolean {
  if ((tag.attributeBits & MARK_BITS) === 0 || page.aside !== undefined) return false
  if (tag.attribute('data-fn') === undefined && !MARK_CLASS.test(tag.attribute('class') ?? '')) return false
  page.aside = new Mark(page, 'sup', tag.attribute('id'), undefined)
  return true
}

/** Element around the note of a newsletter, whose id is that of the link inside. */
const NOTE_FRAME = /(?:^|[\s_-])(?:foot|end)notes?(?=$|[\s_-])/i

/** Elements that are notes by their id. Items of lists are read by their family. */
const NOTES = new Set(['aside', 'div', 'dd', 'p', 'section'])

/** Returns the role of an element that is a note, or the frame of one. */
export function noteRoleOf(page: ElementPage, tag: Tag): Role | undefined {
  const { footnotes } = page
  if (footnotes === undefined || !NOTES.has(tag.name) || (page.table !== undefined && page.table.state !== 'layout'))
    return undefined
  let label = footnotes.labelOf(tag)
  if (label === undefined && tag.name === 'dd' && footnotes.label !== '') {
    label = footnotes.label
    footnotes.label = ''
  }
  if (label !== undefined) return { open: () => beginNote(page, label), close: endNote }
  if (tag.name === 'dd' || !NOTE_FRAME.test(tag.attribute('class') ?? '')) return undefined
  return { open: () => page.boundary(), close: (at) => (at.inNote ? endNote(at) : at.boundary()) }
}

function beginNote(page: ElementPage, label: string): void {
  page.beginBlock()
  page.kind = 'text'
  page.writer.openItem(undefined, label)
  page.aside = new NoteStart(page, label)
}

function endNote(page: ElementPage): void {
  page.endAside()
  page.endHeading()
  page.endBlock()
  page.kind = 'text'
  page.writer.closeItem()
}

/** Begins a note at a link whose id a mark names. Returns whether it did. */
export function beginNoteAt(page: ElementPage, tag: Tag): boolean {
  const { footnotes, writer, line } = page
  if (footnotes === undefined || page.table !== undefined || !line.isEmpty || page.inNote) return false
  const label = footnotes.labelOf(tag)
  if (label === undefined) return false
  if (!writer.labelItem(label)) beginNote(page, label)
  else page.aside = new NoteStart(page, label)
  return true
}

/** The mark of a note. Its text decides whether it is one. */
class Mark implements Aside {
  readonly #page: ElementPage
  readonly #name: string
  readonly #id: string | undefined
  #linkId: string | undefined
  #href: string | undefined
  #text = ''

  constructor(page: ElementPage, name: string, id: string | undefined, href: string | undefined) {
    this.#page = page
    this.#name = name
    this.#id = id
    this.#href = href
  }

  text(text: string): void {
    this.#text += text
    if (this.#text.length > MAX_MARK) this.#page.endAside()
  }

  enter(tag: Tag): Skip | void {
    if (tag.name === 'img') this.#page.endAside()
    if (this.#name !== 'sup' || tag.name !== 'a' || this.#href !== undefined) return undefined
    const href = tag.attribute('href')
    // A link to another page, or a second link, is not the mark of a note.
    if (href === undefined || href.charCodeAt(0) !== NUMBER_SIGN || href.length < 2) {
      this.#page.endAside()
      return undefined
    }
    this.#href = href
    this.#linkId = tag.attribute('id')
    return undefined
  }

  /** Whether start tags are part of the mark and write nothing. */
  readonly isClosed = true

  endsAt(name: string): boolean {
    return name === this.#name || CONTAINERS.has(name)
  }

  end(page: ElementPage): void {
    const { line } = page
    const href = this.#href
    const text = this.#text
    const isNote = href !== undefined && MARK_TEXT.test(text)
    const label = isNote ? notesOf(page).labelFor(decoded(href.slice(1)), text, `[${text.trim()}](${href})`) : undefined
    if (label !== undefined) {
      page.footnotes?.addMark(this.#id)
      page.footnotes?.addMark(this.#linkId)
      line.close('sup')
      line.mark(`[^${label}]`)
      return
    }
    if (this.#name === 'sup') line.open('markup', 'sup', 'sup')
    if (href === undefined) {
      line.text(text)
      return
    }
    const url = page.addresses.resolve(href)
    line.openLink('a', { url, plain: false, title: undefined, plainTitle: true, name: undefined, noise: undefined })
    line.text(text)
  }
}

function decoded(fragment: string): string {
  if (!fragment.includes('%')) return fragment
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}

/** Drops the number at the start of a note: `1. Note`. */
export class NoteStart implements Aside {
  readonly #page: ElementPage
  readonly #label: string

  constructor(page: ElementPage, label: string) {
    this.#page = page
    this.#label = label
  }

  text(text: string): void {
    let rest = text.replace(/^[\s\u00a0^[]+/, '')
    if (rest.startsWith(this.#label) && /^[.):\]]/.test(rest.slice(this.#label.length)))
      rest = rest.slice(this.#label.length + 1).replace(/^[\s\u00a0]+/, '')
    rest = rest.replace(/^[.):\]](?:[\s\u00a0]+|$)/, '')
    if (rest === '') return
    this.#page.aside = undefined
    this.#page.line.text(rest)
  }

  enter(tag: Tag): Skip | void {
    return tag.name === 'sup' ? 'skip' : undefined
  }

  endsAt(): boolean {
    return false
  }

  end(): void {}
}
