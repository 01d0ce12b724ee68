import { attributeBits } from '../text/names.js'
import type { Link } from '../output/inline-format.js'
import type { Skip, Tag } from '../text/events.js'
import { CONTAINERS, type Aside, type ElementPage, type Role } from './element.js'
import { Footnotes, ID_BIT, MARK_TARGET, MARK_TEXT } from './notes.js'

/** Maximum characters of the text of a mark. A longer text belongs to a link. */
const MAX_MARK = 12

/** Classes of marks, and of elements around them. */
const MARK_CLASS =
  /(?:^|[\s_-])(?:footnote-?ref(?:erence)?|noteref|footnote-anchor|fn-?ref|easy-footnote|footnote-link|footnote|reference|fn)(?=\s|$)/i

/** Fragments of the notes of generators. */
const NOTE_TARGET =
  /^#(?:[\w.-]*?[-_.])?(?:fn|ftnt|fnote|note|footnote|footnotedef|endnote|cite_note|easy-footnote(?:-bottom)?)(?:[-_:.]+|(?=\d))[\w:.%-]+$/i

/** Fragments of the items of a bibliography that LaTeX generated. */
const BIBLIOGRAPHY = /^#bib\.bib\d+$/

/** Text of a link back, which is dropped: arrows, carets and letters. */
export const BACK_TEXT =
  /^[\s()[\],;.]*(?:[↩↑⤴⏎↵⇧^]\ufe0e?\ufe0f?[\s\d]*|back|return|jump up|[a-z]|\d{1,3}(?:\.\d+)?)[\s()[\],;.]*$/iu

/** Heading of a section of notes. It is dropped if a note is the next content. */
export const NOTES_TITLE =
  /^(?:\*\*)?(?:foot ?notes?|end ?notes?|notes?|references?|notes and references|fußnoten|einzelnachweise|anmerkungen|notes et références|références|notas|referencias|note|riferimenti|voetnoten|bronnen|przypisy|примечания|注释|参考资料|脚注|出典)(?:\*\*)?:?$/iu

const NUMBER_SIGN = 0x23

const MARK_BITS = attributeBits('class', 'role', 'data-footnote-ref', 'data-fn', 'epub:type')
/** Returns whether a tag has the attributes of a mark. */
const isMark = (tag: Tag): boolean =>
  (tag.attributeBits & MARK_BITS) !== 0 &&
  (tag.attribute('data-footnote-ref') !== undefined ||
    tag.attribute('role') === 'doc-noteref' ||
    tag.attribute('epub:type') === 'noteref' ||
    MARK_CLASS.test(tag.attribute('class') ?? ''))

/** Returns the notes of a page, which exist from its first mark on. */
const notesOf = (page: ElementPage): Footnotes => (page.footnotes ??= new Footnotes())

/**
 * Begins a mark at a link to a fragment. Returns whether it did. `link` is written if its text marks no note.
 */
export function beginMark(page: ElementPage, tag: Tag, href: string, link: Link): boolean {
  if (href.length < 3) return false
  const isSure = isMark(tag) || NOTE_TARGET.test(href) || BIBLIOGRAPHY.test(href)
  if (!isSure && (page.heading > 0 || !(endsInDigit(href) || page.line.isSuperscript))) return false
  if (MARK_TARGET.test(href) || (page.inNote && page.footnotes?.isBack(tag) === true)) return false
  page.endAside()
  page.aside = new Mark(page, 'a', tag.attribute('id') ?? tag.attribute('name'), isSure, href, link)
  return true
}

const endsInDigit = (href: string): boolean => {
  const last = href.charCodeAt(href.length - 1)
  return last >= 0x30 && last <= 0x39
}

/** Returns the fragment of a link with the attributes of a mark. The address may be the address of the page. */
export function fragmentOf(tag: Tag, url: string): string | undefined {
  if ((tag.attributeBits & MARK_BITS) === 0) return undefined
  const at = url.indexOf('#')
  if (at <= 0) return undefined
  const fragment = url.slice(at)
  return BIBLIOGRAPHY.test(fragment) || (NOTE_TARGET.test(fragment) && isMark(tag)) ? fragment : undefined
}

/** Begins a mark at a `sup` that begins a link to the page, or has the class of a mark. Returns whether it did. */
export function beginSuperscript(page: ElementPage, tag: Tag): boolean {
  if (page.line.inLink) return beginRaised(page)
  if ((tag.attributeBits & MARK_BITS) === 0 || page.aside !== undefined) return false
  if (tag.attribute('data-fn') === undefined && !MARK_CLASS.test(tag.attribute('class') ?? '')) return false
  page.aside = new Mark(page, 'sup', tag.attribute('id'), true)
  return true
}

/** Begins a mark in place of the open link if the link has no contents and leads to the page. */
function beginRaised(page: ElementPage): boolean {
  if (page.heading > 0 || page.aside !== undefined) return false
  const link = page.line.takeEmptyLink()
  if (link === undefined) return false
  const { fragment } = link
  if (fragment === undefined || MARK_TARGET.test(fragment)) {
    page.line.openLink('a', link)
    return false
  }
  const mark = new Mark(page, 'a', undefined, true, fragment, link)
  mark.isRaised = true
  page.aside = mark
  return true
}

/** Text of a mark that nothing but its place above the line shows. */
const IS_NUMBER = /^[\s[(]*(?:\d{1,4}|[*†‡§¶]{1,3})[\s\])]*$/u

/** Attributes of marks that name the element with the note. */
const NAMED = ['data-definition', 'data-footnote', 'data-footnote-id', 'data-note', 'data-note-id', 'data-fn']
export const NAMED_BITS = attributeBits(...NAMED)
const IS_ID = /^#?[\w:.-]{1,64}$/

/** Begins a mark at an inline element with an attribute that names the note. Returns whether it did. */
export function beginNamedMark(page: ElementPage, tag: Tag): boolean {
  if ((tag.attributeBits & NAMED_BITS) === 0 || !page.readsNotes || page.aside !== undefined) return false
  const id = NAMED.map((name) => tag.attribute(name)).find((value) => value !== undefined && IS_ID.test(value))
  if (id === undefined || page.line.inLink) return false
  page.aside = new Mark(page, tag.name, tag.attribute('id'), true, `#${id.replace('#', '')}`)
  return true
}

/** Element around the note of a newsletter, whose link inside has the id. */
const NOTE_FRAME = /(?:^|[\s_-])(?:foot|end)notes?(?=$|[\s_-])/i

/** Returns whether a tag may begin a note, or is inside one. */
export const concernsNotes = (page: ElementPage, footnotes: Footnotes, tag: Tag): boolean =>
  (tag.attributeBits & ID_BIT) !== 0 ||
  footnotes.label !== '' ||
  page.inNote ||
  (tag.name === 'div' && tag.attributeIncludes('class', 'note'))

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
  if (page.footnotes !== undefined) page.footnotes.isInParagraph = false
  page.endAside()
  page.endHeading()
  page.endBlock()
  page.kind = 'text'
  page.writer.closeItem()
}

/** Ends a note that began inside of a paragraph. */
export function endNoteInParagraph(page: ElementPage): void {
  if (page.footnotes?.isInParagraph === true) endNote(page)
}

/** Inline elements that may have the id of the note that they begin. */
const ANCHORS = new Set(['a', 'span', 'sup', 'b', 'strong'])

/** Begins a note at an inline element whose id a mark names. Returns whether it did. */
export function beginNoteAt(page: ElementPage, tag: Tag): boolean {
  const { footnotes, writer, line } = page
  if (footnotes === undefined || (tag.attributeBits & ID_BIT) === 0 || !ANCHORS.has(tag.name)) return false
  if (page.table !== undefined || !line.isEmpty) return false
  const label = footnotes.labelOf(tag)
  if (label === undefined) return false
  const isInParagraph = page.kind === 'paragraph'
  if (!writer.labelItem(label)) {
    beginNote(page, label)
    footnotes.isInParagraph ||= isInParagraph
  } else page.aside = new NoteStart(page, label)
  return true
}

/** Elements that a mark may consist of. */
const PARTS = new Set(['a', 'sup', 'span', 'b', 'i', 'small'])

/** The mark of a note. Its text decides whether it is one. */
class Mark implements Aside {
  readonly #page: ElementPage
  readonly #name: string
  readonly #id: string | undefined
  #linkId: string | undefined
  #href: string | undefined
  readonly #link: Link | undefined
  #text = ''
  /** Whether it begins with text above the line in a link. */
  isRaised = false
  /** Whether an attribute of an element that is not a link names the note. */
  readonly #isNamed: boolean
  /** Whether attributes or the target name a mark. Otherwise the form of the link has to be the form of a mark. */
  #isSure: boolean

  constructor(page: ElementPage, name: string, id: string | undefined, isSure: boolean, href?: string, link?: Link) {
    this.#page = page
    this.#isNamed = name === 'span'
    this.#isSure = isSure || page.line.isSuperscript
    this.#name = name
    this.#id = id
    this.#href = href
    this.#link = link
  }

  text(text: string): void {
    this.#text += text
    if (this.#text.length > MAX_MARK) this.#page.endAside()
  }

  enter(tag: Tag): Skip | void {
    if (!PARTS.has(tag.name)) this.#page.endAside()
    if (tag.name === 'sup' && this.#text.trim() === '') this.#isSure = true
    if (this.#page.aside !== this || tag.name !== 'a') return undefined
    const href = tag.attribute('href')
    if (this.#isNamed && href?.charCodeAt(0) !== NUMBER_SIGN) this.#page.endAside()
    if (this.#name !== 'sup' || this.#href !== undefined) return undefined
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
    return name === this.#name || (this.isRaised && name === 'sup') || CONTAINERS.has(name)
  }

  end(page: ElementPage): void {
    const { line } = page
    const href = this.#href
    const text = this.#text
    const isSure = this.isRaised ? IS_NUMBER.test(text) : this.#isSure || (href !== undefined && isNumberOf(text, href))
    const isNote = href !== undefined && isSure && MARK_TEXT.test(text)
    const rest = this.#isNamed ? text.trim() : `[${text.trim()}](${this.#link?.url ?? href})`
    const label = isNote ? notesOf(page).labelFor(decoded(href.slice(1)), text, rest) : undefined
    if (label !== undefined) {
      page.footnotes?.addMark(this.#id)
      page.footnotes?.addMark(this.#linkId)
      line.close('sup')
      line.mark(`[^${label}]`)
      return
    }
    if (this.#name === 'sup') line.open('markup', 'sup', 'sup')
    if (href === undefined || this.#isNamed) {
      line.text(text)
      return
    }
    line.openLink('a', this.#link ?? linkTo(page.addresses.resolve(href)))
    if (this.isRaised) line.open('markup', 'sup', 'sup')
    if (text !== '') line.text(text)
  }
}

const linkTo = (url: string): Link => ({
  url,
  plain: false,
  title: undefined,
  plainTitle: true,
  name: undefined,
  fragment: undefined,
})

/** Returns whether a text is a number in brackets that ends a fragment too. */
function isNumberOf(text: string, href: string): boolean {
  const digits = /^\s*\[\s*(\d{1,4})\s*\]\s*$/.exec(text)?.[1]
  return digits !== undefined && href.endsWith(digits)
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
