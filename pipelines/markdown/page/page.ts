import { Addresses } from '../text/address.js'
import type { Aside, ElementPage, Role } from '../elements/element.js'
import { CLOSE, IS_FORMAT, OPEN } from '../elements/index.js'
import { beginTitle, calloutOf, IS_FRAME, mayBeCallout } from '../elements/callouts.js'
import { beginNoteAt, concernsNotes, noteRoleOf, NoteStart } from '../elements/footnotes.js'
import { Footnotes } from '../elements/notes.js'
import { SideNote } from '../elements/side-notes.js'
import { isTwin } from '../elements/late-images.js'
import { isHidden } from '../elements/left-out.js'
import { OpenRoles, ROLE_BIT, roleOf } from '../elements/roles.js'
import type { Events, Skip, Tag } from '../text/events.js'
import { FrontMatter } from '../output/front-matter.js'
import { isJsonLd, JsonLd } from '../output/json-ld.js'
import type { LinkStyle } from '../output/link-style.js'
import { elementNamed, HEAD_ELEMENTS, KNOWN_NAMES } from '../text/names.js'
import { PageBlocks } from './blocks.js'
import { MIN_NOSCRIPT_TEXT, proseLength } from './noscript.js'
import { Preformatted } from '../elements/preformatted.js'
import { beginNamed, loadsMath, texScriptOf, writeDelimited, writeScript } from '../elements/tex.js'
import { BLANK, SPECIALS } from '../text/text-traits.js'

/** Maximum Markdown that is buffered for a `<head>` that was opened and not closed. */
const MAX_HELD = 256 * 1024

/** Maximum number of names of elements with a shadow root per page. */
const MAX_HOSTS = 64

const SCRIPT = elementNamed('script').id
const PARAGRAPH = elementNamed('p').id
const BREAK = elementNamed('br').id

/** Converts a page to Markdown. Receives the events of a tokenizer and passes each to the family of its element. */
export class Page extends PageBlocks implements ElementPage, Events {
  readonly addresses: Addresses
  readonly frontMatter = new FrontMatter()
  /** Markdown between the frontmatter and the content. */
  notice = ''
  readonly #jsonLd = new JsonLd()

  /** Number of open tables that are written as text only. */
  deepTables = 0
  /** Number of open `article`, `main` and `section` elements. */
  sections = 0
  figures = 0
  /** The program language that an element around the next `pre` names. */
  language: string | undefined
  /** The source that the open `picture` offers. */
  picture: string | undefined
  opened = 0
  openedAtItem = 0
  #aside: Aside | undefined
  /** Inside the reading of a ruby text. */
  reading = false
  formula: string | undefined

  readsNotes = true
  readsCallouts = true
  writesTex = true

  protected preformatted: Preformatted | undefined
  protected script: string | undefined
  /** How the formula in the open script is displayed. Undefined if the script is JSON-LD. */
  #texScript: 'inline' | 'display' | undefined
  /** Whether a script of the page reads TeX between delimiters in text. */
  #loadsMath = false
  protected head: 'before' | 'open' | 'ended' = 'before'

  /** The contents of the open `noscript`, or of the open note in the margin. */
  protected noscript: Page | undefined
  #sideNote: SideNote | undefined
  /** The page around this one, if this one is the contents of its `noscript`. */
  readonly #outer: Page | undefined
  /** Number of listed addresses before the open `noscript`. */
  #addressesBefore = 0
  /** Whether text goes to the line and end tags to their element, because no open part receives them instead. */
  #isDirect = false
  /** Whether start tags go to their element at once. */
  #isSimple = false
  /** Open elements that have the role of another one. Undefined if there are none. */
  #roles: OpenRoles | undefined
  /** Whether an element is read by its role. */
  protected readonly readsRoles: boolean = true
  /** The last element that the table of names does not have, and such elements that have a shadow root. */
  #unknown = ''
  readonly #hosts = new Set<string>()

  constructor(outer?: Page, links: LinkStyle | undefined = outer?.writer.links) {
    super()
    this.#outer = outer
    this.writer.links = links
    this.addresses = outer?.addresses ?? new Addresses()
    if (outer === undefined) return
    this.head = 'ended'
    this.#direct()
    this.sections = outer.sections
    this.readsNotes = this.readsCallouts = false
    this.writesTex = outer.writesTex
  }

  /** Receives text that is not part of the line, until an end tag ends it. */
  get aside(): Aside | undefined {
    return this.#aside
  }

  set aside(aside: Aside | undefined) {
    this.#aside = aside
    this.#direct()
  }

  /** Creates the page for the contents of a `noscript`. */
  protected newPage(): Page {
    return new Page(this)
  }

  open(tag: Tag): Skip | void {
    const { id } = tag
    if (!this.#isSimple || id === SCRIPT) return this.#openIndirect(tag)
    this.opened++
    if (isHidden(tag)) return 'skip'
    if ((tag.attributeBits & ROLE_BIT) !== 0 || (IS_FRAME[id] === 1 && mayBeCallout(tag))) return this.#openInRole(tag)
    const open = OPEN[id]
    if (open !== undefined) return open(this, tag)
    if (id === KNOWN_NAMES) this.#openUnknown(tag)
    return undefined
  }

  /** Opens an element while something is open that start tags may belong to, or a script. */
  #openIndirect(tag: Tag): Skip | void {
    if (this.head !== 'ended') this.readHead(tag)
    if (tag.id === SCRIPT) return this.#openScript(tag)
    if (this.noscript !== undefined && this.noscript.writer.length > MAX_HELD) this.#endInner(true)
    if (this.#sideNote?.opened(tag.name) === false) this.#dropSideNote()
    if (this.noscript !== undefined) return this.noscript.open(tag)
    this.opened++
    if (this.callout !== undefined && beginTitle(this, tag)) return this.#roles?.opened(tag.name)
    if (isHidden(tag) && this.footnotes?.isAwaited(tag) !== true) return 'skip'
    if (this.preformatted !== undefined) return this.preformatted.open(tag)
    if (this.#aside?.enter?.(tag) === 'skip') return 'skip'
    if (this.#aside?.isClosed === true) return this.#roles?.opened(tag.name)
    if (
      this.#roles !== undefined ||
      (this.footnotes !== undefined && concernsNotes(this, this.footnotes, tag)) ||
      (tag.attributeBits & ROLE_BIT) !== 0 ||
      mayBeCallout(tag)
    )
      return this.#openInRole(tag)
    const open = OPEN[tag.id]
    if (open !== undefined) return open(this, tag)
    if (tag.id === KNOWN_NAMES) this.#openUnknown(tag)
    return undefined
  }

  /** Opens an element that the table of names does not have. */
  #openUnknown(tag: Tag): void {
    this.#unknown = tag.name
    beginNamed(this, tag)
  }

  /** Opens an element that may have a role, or is inside one that has. */
  #openInRole(tag: Tag): Skip | void {
    if (this.footnotes !== undefined) {
      if (beginNoteAt(this, tag)) return tag.name === 'span' ? undefined : 'skip'
      if (this.inNote && this.footnotes.isLeftOut(tag)) return 'skip'
    }
    const role = this.readsRoles ? (calloutOf(this, tag) ?? noteRoleOf(this, tag) ?? roleOf(tag)) : undefined
    if (role !== undefined && this.#beginRole(tag.name, role)) return role.open(this, tag)
    if (tag.id === KNOWN_NAMES) this.#openUnknown(tag)
    const isSkipped = OPEN[tag.id]?.(this, tag)
    if (isSkipped === undefined) this.#roles?.opened(tag.name)
    return isSkipped
  }

  /** Begins a role. Returns false if the element is too deep to have one. */
  #beginRole(name: string, role: Role): boolean {
    this.#roles ??= new OpenRoles()
    this.#simple()
    return this.#roles.begin(name, role)
  }

  /** Ends the roles of the element that an end tag ends. Returns whether it had one. */
  #closeRole(roles: OpenRoles, name: string): boolean {
    const isEnded = roles.close(this, name)
    if (roles.isEmpty) this.#roles = undefined
    this.#simple()
    return isEnded
  }

  close(name: string, id: number, isStray = false): void {
    if (!this.#isDirect && this.#closeIndirect(name, id, isStray)) return
    if (isStray && id !== PARAGRAPH && id !== BREAK) return
    if (this.#roles !== undefined && this.#closeRole(this.#roles, name)) return
    if (IS_FORMAT[id] === true) return this.line.close(name)
    const close = CLOSE[id]
    if (close !== undefined) close(this, name)
    else if (id === KNOWN_NAMES && this.#hosts.has(name)) this.boundary()
  }

  /** Handles an end tag before it reaches its element. Returns whether the end tag is handled completely. */
  #closeIndirect(name: string, id: number, isStray: boolean): boolean {
    if (this.script !== undefined) {
      this.#endScript(this.script)
      return true
    }
    if (isStray && id !== PARAGRAPH && id !== BREAK) return true
    if (this.noscript !== undefined) {
      const ends = this.#sideNote === undefined ? name === 'noscript' : this.#sideNote.closes(name)
      if (!ends) this.noscript.close(name, id, isStray)
      else if (this.#sideNote === undefined) this.#endNoscript(false)
      else return this.#endSideNote(this.#sideNote, name)
      return true
    }
    if (this.head !== 'ended' && name === 'head') this.endHead()
    if (this.preformatted !== undefined) {
      if (!this.preformatted.close(name, id)) return true
      this.#endPreformatted()
      if (name === 'pre') return true
    }
    if (this.#aside !== undefined && this.#aside.endsAt(name)) this.endAside()
    return false
  }

  text(text: string, traits: number): void {
    if (this.#isDirect) this.line.text(text, traits)
    else this.#textIndirect(text, traits)
  }

  #textIndirect(text: string, traits: number): void {
    if (this.script !== undefined) this.script += text
    else if (this.noscript !== undefined) this.noscript.text(text, traits)
    else if (this.preformatted !== undefined) this.preformatted.text(text)
    else if (this.#aside !== undefined) this.#aside.text(text)
    else {
      if (this.head === 'before' && (traits & BLANK) === 0) this.endHead()
      if (this.#loadsMath && !this.line.inCode && (traits & SPECIALS) !== 0) writeDelimited(this, text, traits)
      else this.line.text(text, traits)
    }
  }

  /** Whether white space may be collapsed, which is not the case in preformatted text. */
  get collapses(): boolean {
    if (this.#isDirect) return !this.line.inCode
    if (this.noscript !== undefined && this.script === undefined) return this.noscript.collapses
    return (
      this.preformatted === undefined && !this.line.inCode && this.script === undefined && this.#aside === undefined
    )
  }

  /** Checks whether anything that is open receives text and end tags. */
  #direct(): void {
    this.#isDirect =
      this.head === 'ended' &&
      !this.#loadsMath &&
      this.script === undefined &&
      this.noscript === undefined &&
      this.preformatted === undefined &&
      this.#aside === undefined
    this.#simple()
  }

  /** Checks whether nothing is open that start tags may belong to. */
  #simple(): void {
    this.#isSimple =
      this.#isDirect && this.callout === undefined && this.#roles === undefined && this.footnotes === undefined
  }

  protected override partsChanged(): void {
    this.#simple()
  }

  /** Returns the Markdown that is final so far. */
  take(): string {
    if (this.head !== 'ended' && this.writer.length < MAX_HELD) return ''
    if (this.head !== 'ended') this.endHead()
    return this.writer.take()
  }

  /** Ends the page. Returns the rest of its Markdown. */
  end(): string {
    if (this.script !== undefined) this.#endScript(this.script)
    if (this.noscript !== undefined) this.#endInner(false)
    if (this.preformatted !== undefined) this.#endPreformatted()
    this.endAside()
    this.endHeading()
    this.endBlock()
    while (this.table !== undefined) this.endTable()
    this.endBlock()
    this.writer.end()
    if (this.head !== 'ended') this.endHead()
    const notes = this.footnotes?.rest((label) => this.usesNote(label)) ?? ''
    if (notes !== '') this.writer.leaf('paragraph', notes)
    const addresses = this.#outer === undefined ? this.writer.links?.list() : undefined
    if (addresses) this.writer.leaf('paragraph', addresses, true)
    const jsonLd = this.#jsonLd.toString()
    if (jsonLd !== '') this.writer.leaf('fence', jsonLd)
    return this.take()
  }

  /** Opens a script. JSON-LD counts anywhere in the page, and TeX where it stands. */
  #openScript(tag: Tag): Skip | void {
    const type = tag.attribute('type')
    const isText = this.head === 'ended' && this.noscript === undefined && this.preformatted === undefined
    this.#texScript = isText ? texScriptOf(type) : undefined
    if (this.#texScript === undefined && !isJsonLd(type)) {
      if (loadsMath(tag)) this.#loadsMath = this.readsNotes
      return 'skip'
    }
    this.script = ''
    this.#direct()
  }

  /** Ends a script. */
  #endScript(script: string): void {
    this.script = undefined
    this.#direct()
    if (this.#texScript === undefined) this.readJsonLd(script)
    else writeScript(this, script, this.#texScript)
  }

  protected readJsonLd(script: string): void {
    this.#jsonLd.add(script)
  }

  protected readHead(tag: Tag): void {
    if (tag.name === 'head') this.head = 'open'
    else if (tag.name === 'meta') this.frontMatter.meta(tag)
    else if (tag.name === 'body' || (this.head === 'before' && !HEAD_ELEMENTS.has(tag.name))) this.endHead()
  }

  protected endHead(): void {
    this.head = 'ended'
    this.#direct()
    const block = this.frontMatter.toString()
    this.writer.putFirst(block === '' || this.notice === '' ? block + this.notice : `${block}\n\n${this.notice}`)
  }

  beginPreformatted(tag: Tag): void {
    this.preformatted = new Preformatted(tag, this.language)
    this.#direct()
    this.language = undefined
  }

  #endPreformatted(): void {
    const preformatted = this.preformatted as Preformatted
    this.preformatted = undefined
    this.#direct()
    if (this.beginBlock()) {
      const fence = preformatted.fence()
      if (fence !== '') this.writer.leaf('fence', fence)
    } else this.table?.add(preformatted.span())
  }

  beginSideNote(tag: Tag): void {
    const inner = this.newPage()
    inner.aside = new NoteStart(inner, '')
    this.noscript = inner
    this.#sideNote = new SideNote(tag.name)
    this.#direct()
  }

  #dropSideNote(): void {
    this.#sideNote = this.noscript = undefined
    this.#direct()
  }

  /** Writes the mark of a note in the margin. Returns whether the end tag is the end tag of the note. */
  #endSideNote({ name }: SideNote, endTag: string): boolean {
    const markdown = (this.noscript as Page).end()
    this.#dropSideNote()
    if (markdown !== '') {
      const label = (this.footnotes ??= new Footnotes()).addSide(markdown)
      if (label === undefined) this.line.markdown(` ${markdown.replaceAll(/\s*\n\s*/g, ' ')}`)
      else this.line.mark(`[^${label}]`)
    }
    return name === endTag
  }

  #endInner(isContent: boolean): void {
    if (this.#sideNote === undefined) this.#endNoscript(isContent)
    else this.#endSideNote(this.#sideNote, '')
  }

  beginNoscript(): Skip | void {
    if (this.head !== 'ended') return 'skip'
    // The contents of a nested one belong to the outer one.
    if (this.#outer !== undefined) return
    this.noscript = this.newPage()
    this.#direct()
    const { links } = this.writer
    if (links === undefined) return
    links.linked = 0
    this.#addressesBefore = links.size
  }

  /** Writes the contents of the open `noscript` if they are content. */
  #endNoscript(isContent: boolean): void {
    const { links } = this.writer
    const markdown = (this.noscript as Page).end()
    this.noscript = undefined
    this.#direct()
    if (!isContent && proseLength(markdown) - (links?.linked ?? 0) < MIN_NOSCRIPT_TEXT) {
      links?.truncate(this.#addressesBefore)
      const { missingImage } = this
      if (missingImage !== undefined && isTwin(markdown, missingImage, this.figures > 0)) this.line.markdown(markdown)
      return
    }
    if (this.beginBlock()) this.writeNoscript(markdown)
  }

  /** Returns whether a mark of the note with this label is written. */
  protected usesNote(_label: string): boolean {
    return true
  }

  protected writeNoscript(markdown: string): void {
    this.writer.leaf('paragraph', markdown, true)
  }

  beginShadowRoot(): void {
    if (this.#unknown.includes('-') && this.#hosts.size < MAX_HOSTS) this.#hosts.add(this.#unknown)
    this.boundary()
  }

  endAside(): void {
    const aside = this.#aside
    if (aside === undefined) return
    this.aside = undefined
    aside.end(this)
  }
}
