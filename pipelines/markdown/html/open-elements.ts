import { KNOWN_NAMES, type ElementName } from '../text/names.js'
import type { OpenTag } from './tag.js'

/** Maximum depth. Deeper elements are not followed, so an unwanted element among them may end early. */
const MAX_DEPTH = 32_768

/** Maximum number of elements in which an end tag inside nested `svg` searches for its element. */
const MAX_FOREIGN_DEPTH = 32

/** Root of a skipped region that is not otherwise followed, such as a `span`, or a namesake inside it. */
const UNLISTED = KNOWN_NAMES

const set = (names: string): ReadonlySet<string> => new Set(names.split(/\s+/))
const DETAILS = set('dd dt')

/** Start tags that end an element whose own end tag may be omitted. WHATWG HTML, 13.1.2.4. */
const ENDED_BY: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  [
    'p',
    set(`address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption figure footer form
      h1 h2 h3 h4 h5 h6 header hgroup hr li listing main menu nav ol p plaintext pre search section summary table ul`),
  ],
  ['li', set('li')],
  ['dt', DETAILS],
  ['dd', DETAILS],
  ['option', set('optgroup option')],
])

/** Type of contents of an element. The last is HTML in an element of SVG or MathML, such as `foreignObject`. */
type Inside = 0 | 1 | 2 | 3
const HTML: Inside = 0
const SVG: Inside = 1
const MATH: Inside = 2
const HTML_AGAIN: Inside = 3

const namespaceOf = (inside: Inside): Inside => (inside === HTML_AGAIN ? HTML : inside)

/** Returns whether an element of HTML is only counted, like most elements of a page: `a`, `span`, `li`. */
const isInline = (element: ElementName): boolean =>
  !element.closes && !element.isVoid && !element.tablePart && element.foreignRoot === undefined

/**
 * The part of the browser's stack of open elements that reading tokens needs. It knows whether the text is in `svg` or
 * `math`, which have other rules for markup, and where an unwanted element ends. It follows the elements whose end tag
 * closes open elements inside them. Inline elements, list items and paragraphs are not followed. If one is left open
 * inside `foreignObject` or `mi`, the end tag of `foreignObject` or `mi` counts here, but not in a browser.
 *
 * Every lookup takes constant time and every entry is removed once, so depth does not make a page slow.
 */
export class OpenElements {
  /** Id of each open element, its type of contents, the next lower element of its name, and the next barrier. */
  #ids: number[] = []
  #inside: Inside[] = []
  #below: number[] = []
  #barriers: number[] = []
  /** Type of contents of the innermost open element. */
  #namespace: Inside = HTML
  /** The topmost open element of each name. */
  #last = new Int32Array(KNOWN_NAMES + 1).fill(-1)
  #barrier = -1

  /** Position of the unwanted element, -1 without one. */
  #unwanted = -1
  #unwantedName = ''
  #pushed = false

  /** Number of open elements of each name that end tags inside them do not close. */
  readonly #counts = new Int32Array(KNOWN_NAMES + 1)
  /** Whether the end tag read last matches no open element. */
  isStray = false

  /** Whether the element opened last is one of SVG or MathML. */
  openedForeign = false

  readonly #table: number
  readonly #template: number

  constructor(table: ElementName, template: ElementName) {
    this.#table = table.id
    this.#template = template.id
  }

  /** Returns whether the current input belongs to an unwanted element. */
  get skipping(): boolean {
    return this.#unwanted >= 0
  }

  /** Returns whether the current input is SVG or MathML. */
  get foreign(): boolean {
    return this.#namespace !== HTML
  }

  /** Adds an open tag, which may end an unwanted element. Returns whether the new element has contents. */
  open(tag: OpenTag): boolean {
    this.#pushed = false
    const element = tag.element
    if (this.#unwanted < 0 && this.#namespace === HTML && element !== undefined && isInline(element)) {
      this.openedForeign = false
      ;(this.#counts[element.id] as number)++
      return true
    }
    if (this.#unwanted >= 0) this.#endImplied(tag.name)
    this.openedForeign = this.foreign
    if (element === undefined) {
      if (this.#unwanted >= 0 && tag.name === this.#unwantedName) this.#push(UNLISTED, this.#namespace, false)
      return !(tag.selfClosing && this.openedForeign)
    }
    if (this.openedForeign && this.#breaksOut(tag, element)) {
      while (this.foreign) this.#pop()
    }
    const namespace = this.#namespace
    this.openedForeign = namespace !== HTML || element.foreignRoot !== undefined
    if (this.openedForeign) return this.#openForeign(tag, element, namespace)
    if (element.isVoid) return false
    if (!element.closes) (this.#counts[element.id] as number)++

    if (element.tablePart) {
      const table = this.#openTable()
      if (table < 0) return true
      this.#popTo(table + 1)
      if (element.closes) this.#push(element.id, HTML, true)
    } else if (element.closes) {
      // A table that begins between the cells of another ends that one.
      if (element.id === this.#table && this.#barrier >= 0 && this.#barrier === this.#openTable())
        this.#popTo(this.#barrier)
      this.#push(element.id, HTML, element.barrier)
    } else if (this.#unwanted >= 0 && tag.name === this.#unwantedName) {
      this.#push(UNLISTED, HTML, false)
    }
    return true
  }

  /** Ends the unwanted element if a start tag directly inside it does so. */
  #endImplied(name: string): void {
    const root = this.#unwanted
    if (root !== this.#ids.length - 1 || this.#ids[root] !== UNLISTED || this.foreign) return
    if (ENDED_BY.get(this.#unwantedName)?.has(name) === true) this.#popTo(root)
  }

  #openForeign(tag: OpenTag, element: ElementName, namespace: Inside): boolean {
    if (tag.selfClosing) return false
    if (!element.closes) (this.#counts[element.id] as number)++
    const root = element.foreignRoot === 'svg' ? SVG : MATH
    if (namespace === HTML) this.#push(element.id, root, false)
    else if (this.#isIntegration(tag, element, namespace)) this.#push(element.id, HTML_AGAIN, true)
    else if (element.closes) this.#push(element.id, namespace, false)
    else if (this.#unwanted >= 0 && tag.name === this.#unwantedName) this.#push(UNLISTED, namespace, false)
    return true
  }

  #isIntegration(tag: OpenTag, element: ElementName, namespace: Inside): boolean {
    if (element.integration !== (namespace === SVG ? 'svg' : 'math')) return false
    if (element.name !== 'annotation-xml') return true
    return /^(text\/html|application\/xhtml\+xml)$/i.test(tag.attribute('encoding') ?? '')
  }

  #breaksOut(tag: OpenTag, element: ElementName): boolean {
    if (element.breakout) return true
    return element.name === 'font' && ['color', 'face', 'size'].some((name) => tag.attribute(name) !== undefined)
  }

  /** Marks the element just opened as unwanted. */
  skip(tag: OpenTag): void {
    if (!this.#pushed) {
      this.#unwantedName = tag.name
      this.#push(UNLISTED, this.#namespace, false)
      if (!this.#pushed) return
    }
    this.#unwanted = this.#ids.length - 1
  }

  /**
   * Handles an end tag. Returns whether to report it. It is not reported inside an unwanted element, nor for the
   * unwanted element itself.
   */
  close(tag: OpenTag): boolean {
    const root = this.#unwanted
    const element = tag.element
    if (root < 0) {
      this.isStray = element !== undefined && !this.#closeWanted(element)
      return true
    }
    const own = this.#ids[root] === UNLISTED ? tag.name === this.#unwantedName : this.#ids[root] === element?.id
    if (tag.name === this.#unwantedName) {
      const last = this.#last[UNLISTED] ?? -1
      if (last > this.#barrier) this.#popTo(last)
    } else if (element !== undefined) this.#close(element)
    return !this.skipping && !own
  }

  /** Closes an element. Returns whether it was open. */
  #closeWanted(element: ElementName): boolean {
    const { length } = this.#ids
    if (this.#mayClose(element)) this.#close(element)
    // Elements below the maximum depth are unknown.
    if (element.closes) return this.#ids.length < length || length >= MAX_DEPTH
    const open = this.#counts[element.id] as number
    if (open > 0) this.#counts[element.id] = open - 1
    return open > 0
  }

  /**
   * Returns whether the end tag of an element may close an element that is followed here. Few end tags of inline
   * elements do.
   */
  #mayClose(element: ElementName): boolean {
    return element.closes || element.tablePart || (this.#last[element.id] as number) >= 0 || this.foreign
  }

  #close(element: ElementName): void {
    // Of end tags, only `</p>` and `</br>` end SVG and MathML.
    if (this.foreign && (element.name === 'p' || element.name === 'br')) {
      while (this.foreign) this.#pop()
      return
    }
    const last = this.#last[element.id] ?? -1
    const isForeign = element.foreignRoot !== undefined || element.integration !== undefined
    if (this.#ids.length > 0 && this.#ids[this.#ids.length - 1] === element.id) this.#pop()
    else if (this.#endsForeign(last)) this.#popTo(last)
    else if (element.tablePart || element.id === this.#table) this.#closeTablePart(element, last)
    else if (element.id === this.#template) this.#popFrom(last)
    else if (!isForeign && last >= this.#barrier) this.#popFrom(last)
  }

  /** Returns whether only elements of SVG and MathML are between an open element and the current position. */
  #endsForeign(last: number): boolean {
    if (last < 0 || last < this.#ids.length - MAX_FOREIGN_DEPTH) return false
    for (let at = this.#ids.length - 1; at >= last && this.#inside[at] !== HTML; at--) {
      if (at === last) return true
    }
    return false
  }

  #closeTablePart(element: ElementName, last: number): void {
    const table = this.#openTable()
    if (table < 0) return
    if (element.id === this.#table) this.#popTo(table)
    else if (!element.closes) this.#popTo(table + 1)
    else if (last > table) this.#popTo(last)
  }

  /** Returns the table that a cell or row belongs to. */
  #openTable(): number {
    const table = this.#last[this.#table] ?? -1
    return table > (this.#last[this.#template] ?? -1) ? table : -1
  }

  #push(id: number, inside: Inside, barrier: boolean): void {
    const at = this.#ids.length
    if (at >= MAX_DEPTH) return
    this.#ids.push(id)
    this.#inside.push(inside)
    this.#below.push(this.#last[id] ?? -1)
    this.#barriers.push(this.#barrier)
    this.#last[id] = at
    this.#namespace = namespaceOf(inside)
    if (barrier) this.#barrier = at
    this.#pushed = true
  }

  #pop(): void {
    const id = this.#ids.pop()
    if (id === undefined) return
    this.#inside.pop()
    const { length } = this.#inside
    this.#namespace = length === 0 ? HTML : namespaceOf(this.#inside[length - 1] as Inside)
    this.#last[id] = this.#below.pop() ?? -1
    this.#barrier = this.#barriers.pop() ?? -1
    if (this.#ids.length <= this.#unwanted) {
      this.#unwanted = -1
      this.#unwantedName = ''
    }
  }

  #popTo(depth: number): void {
    while (this.#ids.length > depth) this.#pop()
  }

  #popFrom(at: number): void {
    if (at >= 0) this.#popTo(at)
  }
}
