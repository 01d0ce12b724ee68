import { joinLines } from '../text/characters.js'
import { codeSpan } from '../output/escape.js'
import type { Skip, Tag } from '../text/events.js'
import { attributeBits, CONTAINERS, type Aside, type ElementPage, type Family } from './element.js'

/** Writes GitHub's form of a formula that needs no escaping: TeX in a code span. */
export function writeTex(page: ElementPage, tex: string): void {
  page.line.text('$')
  page.line.markdown(codeSpan(joinLines(tex.trim())))
  page.line.text('$')
}

/** Removes comments from TeX. They end with their line, but a code span has only one line. */
const withoutComments = (tex: string): string =>
  tex.includes('%') && /[\r\n]/.test(tex) ? tex.replace(/(^|[^\\])((?:\\\\)*)%.*/gm, '$1$2') : tex

const LETTER_A = 0x61
const LETTER_M = 0x6d

/** The `attributeBit` of each attribute that has TeX. */
export const TEX_BITS = attributeBits('data-latex', 'data-tex')

/** Returns the TeX that editors and MathJax 4 store in an attribute of a formula. */
export function texAttribute(tag: Tag): string | undefined {
  if ((tag.attributeBits & TEX_BITS) === 0) return undefined
  const tex = tag.attribute('data-latex') ?? tag.attribute('data-tex')
  return tex === undefined || tex.trim() === '' ? undefined : tex
}

/** Handles a `span` or `div` that is a formula, `first` being the first character of its class. */
export function openFormula(page: ElementPage, tag: Tag, first: number): Skip | void {
  const tex = texAttribute(tag)
  if (tex !== undefined) {
    writeTex(page, tex)
    return 'skip'
  }
  const letter = first | 0x20
  if (letter !== LETTER_A && letter !== LETTER_M) return
  const classes = tag.attribute('class') ?? ''
  if (!/^(?:math|arithmatex)(?:\s|$)/.test(classes)) return
  page.endAside()
  page.aside = new DelimitedTex(page, tag.name)
}

const DELIMITED = /^(?:\\\(([^]*)\\\)|\\\[([^]*)\\\]|\$\$([^]*)\$\$|\$([^$]*)\$|(\\begin\{[^]*))\s*$/

/** TeX between delimiters that a script would search for, as Sphinx, Pandoc and MkDocs write it. Other text is text. */
class DelimitedTex implements Aside {
  readonly #page: ElementPage
  readonly #name: string
  #text = ''
  #isDelimited = false

  constructor(page: ElementPage, name: string) {
    this.#page = page
    this.#name = name
  }

  text(text: string): void {
    this.#text += text
    if (this.#isDelimited) return
    const start = this.#text.replace(/^[\t\n\f\r ]+/, '')
    if (start !== this.#text) this.#page.line.space()
    this.#text = start
    if (start === '' || start === '\\') return
    this.#isDelimited = /^(?:\\[([b]|\$)/.test(start)
    // A formula without delimiters consists of elements such as emphasis and superscripts.
    if (!this.#isDelimited) this.#page.endAside()
  }

  endsAt(name: string): boolean {
    return name === this.#name || CONTAINERS.has(name)
  }

  end(page: ElementPage): void {
    const parts = DELIMITED.exec(this.#text)
    const tex = parts === null ? undefined : (parts[1] ?? parts[2] ?? parts[3] ?? parts[4] ?? parts[5])
    if (tex === undefined || tex.trim() === '') page.line.text(this.#text)
    else writeTex(page, withoutComments(tex))
  }
}

/** A formula that MathJax 3 or 4 has drawn, and the drawing, which has its TeX since MathJax 4. */
export const drawnFormulas: Family = {
  names: ['mjx-container', 'mjx-math'],
  open(page, tag) {
    page.formula = undefined
    const tex = texAttribute(tag)
    if (tex === undefined) return undefined
    writeTex(page, tex)
    page.formula = tag.name
    return 'skip'
  },
}

/** The repetition of a formula for screen readers, which MathJax writes after the drawing. */
export const spokenFormulas: Family = {
  names: ['mjx-assistive-mml'],
  open(page) {
    const isRepeated = page.formula === 'mjx-math'
    page.formula = undefined
    return isRepeated ? 'skip' : undefined
  },
}
