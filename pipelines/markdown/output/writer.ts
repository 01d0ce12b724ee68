import { holds, lengthOf } from '../text/characters.js'
import type { Callout } from './callout.js'
import { escapeStarts } from './escape.js'
import { AFTER_ALERT, frame, isDetail, NewFrames, spaces, staysTight, typeOf } from './frame.js'
import type { Child, Frame, Leaf } from './frame.js'
import type { LinkStyle } from './link-style.js'

/** Maximum nesting of lists and quotes that is written. Deeper ones become part of the one around them. */
const MAX_DEPTH = 64

/** Maximum characters spent on indentation and quote marks. A page that needs more has no reader. */
const MAX_INDENTATION = 16 * 1024 * 1024

/** Characters that are added up piece by piece. */
const MANY = 16 * 1024

/** Indentation of the further blocks of a footnote. */
const NOTE_INDENT = '    '

/**
 * Writes finished blocks in order. Tracks open lists and quotes, the prefix of each line, and the separation of two
 * blocks. A marker is written with the first block after it.
 */
export class Writer {
  /** Rewrites the links of blocks. If undefined, links remain unchanged. */
  links: LinkStyle | undefined
  #out = ''
  /** Output before `#out`, as flat text. */
  #before = ''
  /** Open frames, the page first. */
  protected frames: Frame[] = [{ ...frame('page'), written: true }]
  readonly #newFrames = new NewFrames()
  /** Frames are also part of other lists of frames, so they are not used again. */
  protected readonly sharesFrames: boolean = false
  /** Lists and quotes beyond the greatest depth. */
  #deepLists = 0
  #deepQuotes = 0
  /** Frames below this index cannot be ended, because they are around the open table cell. */
  #floor = 1
  #indentation = 0
  /** Whether a footnote has been opened. */
  protected hasNotes = false
  /** Headings and rules that are dropped if a footnote follows. */
  #held: { readonly kind: 'heading' | 'rule'; readonly markdown: string; readonly depth: number }[] | undefined

  /** The Markdown since the last call. It ends without a line feed. */
  take(): string {
    const out = this.#before + this.#out
    this.#before = this.#out = ''
    return out
  }

  /** Puts a block before everything else. Nothing may have been taken yet. */
  putFirst(block: string): void {
    if (block === '') return
    const page = this.frames[0] as Frame
    this.#before = page.last === '' ? block : `${block}\n\n${this.#before}`
    if (page.last === '') page.last = 'rule'
  }

  /** Approximate length of the result of `take`. */
  get length(): number {
    return this.#before.length + this.#out.length
  }

  /** Whether nothing has been written in the list item that is open. */
  get atItemStart(): boolean {
    const top = this.#top
    return top.type === 'item' && top.last === '' && !top.pending
  }

  /** Whether the last contents of the innermost frame are a block of HTML. */
  get endsInHtml(): boolean {
    return this.#top.last === 'html'
  }

  /** Whether the next contents belong to a list. */
  get inList(): boolean {
    const { type } = this.#top
    return type === 'item' || type === 'list'
  }

  /** How many lists, items and quotes are open, the page included. */
  protected get depth(): number {
    return this.frames.length
  }

  /** Prefix of each further line in the innermost frame. */
  protected get prefix(): string {
    return this.#top.prefix
  }

  get #top(): Frame {
    return this.frames[this.frames.length - 1] as Frame
  }

  /**
   * Writes one block of one or more lines. With `isFinal` its links have been rewritten. With `isOneLine` it is known
   * to be one line, so it is not searched for others.
   */
  leaf(leaf: Leaf, contents: string, isFinal = false, isOneLine = false): void {
    if (this.#held !== undefined && leaf !== 'empty') this.releaseHeld()
    let kind = leaf
    let markdown = contents
    if (this.links !== undefined && !isFinal) {
      markdown = rewritten(this.links, leaf, contents)
      if (markdown === '' && contents !== '') return
    }
    if (kind === 'detail') {
      const { written, last } = this.#top
      if (written && (last === 'term' || last === 'detail')) markdown = ': ' + markdown
      else kind = 'text'
    }
    const frames = this.frames
    if (frames.length === 1) {
      const page = frames[0] as Frame
      if (page.last !== '') this.#breakLine(isDetail(page.last, kind) ? '\n' : '\n\n')
      page.last = kind
      this.#out += markdown
      return
    }

    if (kind !== 'empty') this.leaveList()
    let depth = frames.length
    while (!(frames[depth - 1] as Frame).written) depth--
    const parent = frames[depth - 1] as Frame
    const first: Child = depth < frames.length ? typeOf(frames[depth] as Frame) : kind
    this.#separate(parent, first, kind, frames[depth], frames[depth + 1]?.number)

    let line = parent.prefix
    let prefix = parent.prefix
    for (let above = parent, index = depth; index < frames.length; index++) {
      const open = frames[index] as Frame
      const marker = this.#markerOf(open, above)
      line += marker
      if (open.type === 'item') prefix += open.head === '' ? spaces(marker.length) : NOTE_INDENT
      else prefix += marker
      if (open.type === 'quote' && open.head !== '') line += this.#alertLine(open, prefix, frames[index + 1], kind)
      open.prefix = prefix
      open.written = true
      above.last = typeOf(open)
      above = open
    }
    const top = this.#top
    top.last = kind
    if (kind === 'paragraph' && top.type === 'item') (frames[frames.length - 2] as Frame).loose = true

    this.#indentation += line.length
    if (this.#indentation > MAX_INDENTATION) this.#giveUpIndentation()
    this.#out += kind === 'empty' ? line.trimEnd() : line + (isOneLine ? markdown : this.#indent(markdown, prefix))
  }

  /** Writes a heading. Before the first item of a list it is the title of the list and is written before it. */
  heading(markdown: string, isOneLine = false): void {
    const list = this.#top
    if (list.type !== 'list' || list.written || list.pending || this.frames.length <= this.#floor) {
      this.leaf('heading', markdown, false, isOneLine)
      return
    }
    this.frames.pop()
    this.leaf('heading', markdown, false, isOneLine)
    this.frames.push(list)
  }

  /** Adds the separator between two lines. */
  #breakLine(line: string): void {
    if (lengthOf(this.#out) > MANY) {
      // A string of many pieces is flattened while the pieces are in a near cache. Its reader would do it later.
      this.#before += [this.#out, line].join('')
      this.#out = ''
    } else this.#out += line
  }

  /** Adds a line to the block that was written last. */
  more(line: string): void {
    const { prefix } = this.#top
    this.#indentation += prefix.length
    this.#breakLine('\n')
    this.#out += prefix + (this.links?.rewrite(line) ?? line)
  }

  /** Adds to the line that was written last. */
  protected extend(text: string): void {
    this.#out += text
  }

  /** Begins a line for a block, with a blank one before it where one is needed. */
  #separate(parent: Frame, child: Child, leaf: Leaf, list: Frame | undefined, number?: number): void {
    if (parent.last === '') {
      if (parent.type !== 'page') this.#out += '\n'
      return
    }
    const close =
      isDetail(parent.last, leaf) ||
      (parent.type === 'list'
        ? !parent.loose
        : parent.type === 'item' && staysTight(parent.last, child, leaf, list, number))
    const blank = parent.prefix.trimEnd()
    this.#indentation += blank.length
    this.#breakLine(close ? '\n' : `\n${blank}\n`)
  }

  /** Returns the rest of the first line of an alert, and the start of its next line. */
  #alertLine(open: Frame, prefix: string, next: Frame | undefined, leaf: Leaf): string {
    const child: Child = next === undefined ? leaf : typeOf(next)
    const follows = AFTER_ALERT.has(child) && (next?.type !== 'list' || !next.ordered || next.number === 1)
    return follows ? `${open.head}\n${prefix}` : `${open.head}\n${prefix.trimEnd()}\n${prefix}`
  }

  #markerOf(open: Frame, parent: Frame): string {
    switch (open.type) {
      case 'quote':
        return '> '
      case 'list': {
        // Two adjacent lists have different markers.
        const usual = open.ordered ? '.' : '-'
        const other = open.ordered ? ')' : '+'
        open.marker = parent.last === 'list' && parent.marker === usual ? other : usual
        parent.marker = open.marker
        return ''
      }
      default:
        if (open.head !== '') return open.head
        if (parent.ordered) return `${open.number}${parent.marker} `
        return parent.marker === '-' ? '- ' : `${parent.marker} `
    }
  }

  #indent(markdown: string, prefix: string): string {
    if (prefix === '' || !holds(markdown, '\n')) return markdown
    const lines = markdown.split('\n')
    this.#indentation += lines.length * prefix.length
    if (this.#indentation > MAX_INDENTATION) this.#giveUpIndentation()
    const blank = prefix.trimEnd()
    return lines.map((line, index) => (index === 0 ? line : line === '' ? blank : prefix + line)).join('\n')
  }

  /** From here on there are no lists and quotes on this page. */
  #giveUpIndentation(): void {
    for (const open of this.frames) open.prefix = ''
    this.#deepLists = this.#deepQuotes = Number.MAX_SAFE_INTEGER / 2
  }

  get #isDeep(): boolean {
    return this.frames.length > 2 * MAX_DEPTH || this.#indentation > MAX_INDENTATION
  }

  openQuote(): void {
    if (this.#isDeep) {
      this.#deepQuotes++
      return
    }
    this.leaveList()
    this.frames.push(frame('quote'))
  }

  /** Opens a quote that is an alert of a kind, in upper case. */
  openCallout(kind: string): Callout | undefined {
    this.openQuote()
    const quote = this.#top
    if (quote.type !== 'quote' || quote.written || quote.pending) return undefined
    quote.head = `[!${kind}]`
    return {
      kind,
      setHead: (head) => void (quote.head = head),
      get isEmpty() {
        return !quote.written && !quote.pending && quote.last === ''
      },
    }
  }

  closeQuote(): void {
    if (this.#deepQuotes > 0) this.#deepQuotes--
    else this.#closeLast('quote')
  }

  openList(ordered: boolean, start = 1): void {
    if (this.#isDeep) {
      this.#deepLists++
      return
    }
    this.leaveList()
    this.frames.push(this.#newFrames.create('list', ordered, start))
  }

  closeList(): void {
    if (this.#deepLists > 0) this.#deepLists--
    else this.#closeLast('list')
  }

  /**
   * Begins an item, in a list of its own if there is none, and ends the one before it. With a label the item is a footnote,
   * and headings and rules that were held for it are dropped.
   */
  openItem(number?: number, label?: string): void {
    if (label !== undefined) this.#held = undefined
    if (this.#deepLists > 0) return
    if (this.#top.type === 'item' && this.frames.length > this.#floor) this.pop()
    if (this.#top.type !== 'list' || this.frames.length <= this.#floor) {
      if (this.#isDeep) return
      this.frames.push(this.#newFrames.create('list', false, 1, true))
    }
    const list = this.#top
    if (number !== undefined) list.number = number
    const item = this.#newFrames.create('item', false, list.number)
    if (label !== undefined) {
      item.head = `[^${label}]: `
      this.hasNotes = true
    }
    this.frames.push(item)
    list.number = Math.min(list.number + 1, 999_999_999)
  }

  /** Makes a footnote of the open item, if nothing of the item is written. Returns whether it did. */
  labelItem(label: string): boolean {
    const item = this.#top
    if (!this.atItemStart) return false
    this.#held = undefined
    item.head = `[^${label}]: `
    this.hasNotes = true
    return true
  }

  /** Whether a footnote is open. */
  get inNote(): boolean {
    return this.hasNotes && this.frames.some((open) => open.type === 'item' && open.head !== '')
  }

  /** Writes a heading or a rule before the next block, unless that is a footnote. */
  hold(kind: 'heading' | 'rule', markdown: string): void {
    ;(this.#held ??= []).push({ kind, markdown, depth: this.frames.length })
  }

  /** Writes the held blocks. */
  protected releaseHeld(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const { kind, markdown, depth } of held) {
      const later = this.frames.splice(depth)
      this.leaf(kind, markdown)
      this.frames.push(...later)
    }
  }

  /** Whether a heading or a rule is held. A subclass that buffers blocks writes it before the next one. */
  protected get isHolding(): boolean {
    return this.#held !== undefined
  }

  /** Ends the open item of a bulleted list without writing the item. The item must have no contents. */
  dropItem(): void {
    const { length } = this.frames
    if (length > this.#floor && this.frames[length - 2]?.ordered === false) this.frames.pop()
  }

  closeItem(): void {
    if (this.#deepLists > 0) return
    for (let at = this.frames.length - 1; at >= this.#floor; at--) {
      const { type } = this.frames[at] as Frame
      if (type === 'list') return
      if (type === 'item') return this.#popTo(at)
    }
  }

  /**
   * Protects the open frames from being ended by further contents. Returns the argument for `lower`, which allows it
   * again.
   */
  raise(): number {
    this.leaveList()
    const floor = this.#floor
    this.#floor = this.frames.length
    return floor
  }

  /** Whether anything is open that was opened since `raise`. */
  get isRaised(): boolean {
    return this.frames.length > this.#floor
  }

  /** Ends everything opened since `raise`. */
  lower(floor: number): void {
    this.#popTo(this.#floor)
    this.#floor = floor
  }

  /** Ends everything. */
  end(): void {
    if (this.#held !== undefined) this.releaseHeld()
    this.#floor = 1
    this.#popTo(1)
  }

  #closeLast(type: Frame['type']): void {
    for (let at = this.frames.length - 1; at >= this.#floor; at--) {
      if ((this.frames[at] as Frame).type === type) return this.#popTo(at)
    }
  }

  #popTo(length: number): void {
    while (this.frames.length > length) this.pop()
  }

  /** Ends all open frames except the first `depth`, as far as they may be ended. */
  protected leave(depth: number): void {
    this.#popTo(Math.max(depth, this.#floor))
  }

  /** Ends the innermost list, item or quote. */
  protected pop(): void {
    if (this.#held !== undefined && this.#held.some(({ depth }) => depth >= this.frames.length)) this.releaseHeld()
    const top = this.#top
    // A callout without contents is decoration, also if it has a title.
    if (!top.written && top.type !== 'list' && (top.type !== 'quote' || top.head === '')) this.leaf('empty', '')
    this.frames.pop()
    // A callout is known beyond the end of its quote.
    if (!this.sharesFrames && top.type !== 'quote') this.#newFrames.ended(top)
  }

  /** Handles contents that are not an item. Inside a list they belong to the last item, or end an implied list. */
  protected leaveList(): void {
    const list = this.#top
    if (list.type !== 'list') return
    if (list.implied && this.frames.length > this.#floor) this.pop()
    else if (list.written) {
      const item = this.#newFrames.create('item')
      item.written = true
      item.last = 'list'
      item.prefix = list.prefix + spaces(list.ordered ? `${list.number - 1}. `.length : 2)
      this.frames.push(item)
    } else this.frames.push(this.#newFrames.create('item', false, list.number++))
  }
}

/** Blocks without links. */
const VERBATIM: ReadonlySet<Leaf> = new Set<Leaf>(['fence', 'rule', 'html', 'empty'])

/** Returns a block with its links rewritten. Text that was inside a link may begin like a list or a heading. */
function rewritten(links: LinkStyle, kind: Leaf, contents: string): string {
  const markdown = VERBATIM.has(kind) ? contents : links.rewrite(contents)
  if (markdown === contents || kind === 'table') return markdown
  return kind === 'heading' ? markdown.replace(/(?<=\S #*)#$/, '\\#') : escapeStarts(markdown)
}
