import { SPACE_AFTER, SPACE_BEFORE } from '../text/text-traits.js'
import { attributeBits } from '../text/names.js'
import { joinLines } from '../text/characters.js'
import { codeSpan } from '../output/escape.js'
import type { Skip, Tag } from '../text/events.js'
import { texOfMathml } from './mathml.js'
import { CONTAINERS, type Aside, type ElementPage, type Family } from './element.js'

/** Writes GitHub's form of a formula that needs no escaping: TeX in a code span. */
export function writeTex(page: ElementPage, tex: string): void {
  const span = codeSpan(joinLines(tex.trim()))
  if (!page.writesTex) return page.line.markdown(span)
  page.line.text('$')
  page.line.markdown(span)
  page.line.text('$')
}

/** Removes comments from TeX. They end with their line, but a code span has only one line. */
const withoutComments = (tex: string): string =>
  tex.includes('%') && /[\r\n]/.test(tex) ? tex.replace(/(^|[^\\])((?:\\\\)*)%.*/gm, '$1$2') : tex

const KATEX_ATTRIBUTES = ['data-math', 'data-expr', 'data-katex']

const LETTER_A = 0x61
const LETTER_M = 0x6d

/** The `attributeBit` of each attribute that has TeX. */
export const TEX_BITS = attributeBits('data-latex', 'data-tex', 'data-attrs', 'data-mathml', ...KATEX_ATTRIBUTES)

/** Returns the TeX that editors and MathJax 4 store in an attribute of a formula. */
export function texAttribute(tag: Tag): string | undefined {
  if ((tag.attributeBits & TEX_BITS) === 0) return undefined
  const tex = tag.attribute('data-latex') ?? tag.attribute('data-tex') ?? storedTex(tag)
  return tex === undefined || tex.trim() === '' ? undefined : tex
}

/** Returns TeX in attributes that other elements have with other meanings. */
function storedTex(tag: Tag): string | undefined {
  const attributes = tag.attribute('data-attrs')
  if (attributes !== undefined)
    return /"persistentExpression":"/.test(attributes) ? expressionIn(attributes) : undefined
  if (!/(?:^|[\s_-])(?:math|katex|latex|tex|equation)/i.test(tag.attribute('class') ?? '')) return undefined
  for (const name of KATEX_ATTRIBUTES) {
    const tex = tag.attribute(name)
    if (tex !== undefined && /[^\d\s]/.test(tex)) return tex
  }
  return undefined
}

function expressionIn(json: string): string | undefined {
  try {
    const { persistentExpression } = JSON.parse(json) as { persistentExpression?: unknown }
    return typeof persistentExpression === 'string' ? persistentExpression : undefined
  } catch {
    return undefined
  }
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
  const kind = FORMULA_CLASS.exec(classes)?.[1]
  if (kind === undefined) return
  if (kind.startsWith('MathJax')) return openDrawing(page, tag, kind)
  page.endAside()
  page.aside = new DelimitedTex(page, tag.name)
}

/** Classes of formulas, and of what MathJax 2 draws. */
const FORMULA_CLASS = /^(math|arithmatex|MathJax(?:_(?:Preview|SVG|CHTML))?)(?:\s|$)/

/** Handles the drawing of MathJax 2 for the script after it, and its preview. */
function openDrawing(page: ElementPage, tag: Tag, kind: string): Skip | void {
  if (kind === 'MathJax_Preview') return 'skip'
  const mathml = tag.attribute('data-mathml')
  page.formula = 'mathjax'
  if (mathml === undefined) return undefined
  page.endAside()
  page.formula = undefined
  page.aside = new Drawing(page, mathml)
  return 'skip'
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

/** Begins a formula in a custom element with a name such as `math-renderer`, if it has delimiters. */
export function beginNamed(page: ElementPage, tag: Tag): void {
  if (
    !/(?:^|-)(?:math|latex|katex|tex)(?:-|$)/.test(tag.name) ||
    tag.name.startsWith('mjx-') ||
    page.aside !== undefined
  )
    return
  page.aside = new DelimitedTex(page, tag.name)
}

/** A formula that MathJax 2 has drawn. The script after it has its TeX. Without the script its MathML is written. */
class Drawing implements Aside {
  readonly #page: ElementPage
  readonly #mathml: string
  #isSpaced = false

  constructor(page: ElementPage, mathml: string) {
    this.#page = page
    this.#mathml = mathml
  }

  text(text: string): void {
    if (text.trim() === '') {
      this.#isSpaced = true
      return
    }
    this.#page.endAside()
    this.#page.line.text(text)
  }

  enter(): void {
    this.#page.endAside()
  }

  endsAt(name: string): boolean {
    return name !== 'div' && CONTAINERS.has(name)
  }

  end(page: ElementPage): void {
    const tex = texOfMathml(this.#mathml)
    if (tex.trim() !== '') writeTex(page, tex)
    if (this.#isSpaced) page.line.space()
  }
}

/** Returns how a script with TeX is displayed. Undefined for other scripts. */
export function texScriptOf(type: string | undefined): 'inline' | 'display' | undefined {
  const found = type === undefined ? null : /^\s*math\/tex\s*(;\s*mode\s*=\s*display)?/i.exec(type)
  if (found === null) return undefined
  return found[1] === undefined ? 'inline' : 'display'
}

/** Writes the TeX of a script. */
export function writeScript(page: ElementPage, script: string, mode: 'inline' | 'display'): void {
  const wasDrawn = page.formula === 'mathjax'
  page.formula = undefined
  if (page.aside instanceof Drawing) page.aside = undefined
  const tex = withoutComments(script.replace(/^\s*%?\s*<!\[CDATA\[|%?\s*\]\]>\s*$/g, ''))
  if (wasDrawn || tex.trim() === '') return
  page.endAside()
  if (mode === 'display') page.boundary()
  writeTex(page, tex)
  if (mode === 'display') page.boundary()
}

/** Returns whether a script reads TeX in the text of the page. */
export const loadsMath = (tag: Tag): boolean => /\b(?:mathjax|katex)\b/i.test(tag.attribute('src') ?? '')

/** The end of TeX by its start. */
const ENDS: ReadonlyMap<string, string> = new Map([
  ['\\(', '\\)'],
  ['\\[', '\\]'],
  ['$$', '$$'],
])
const START = /\\[([]|\$\$/

/** Maximum characters of TeX between delimiters in text. */
const MAX_DELIMITED = 16_384

/** Writes text of a page that loads a script for TeX between delimiters. */
export function writeDelimited(page: ElementPage, text: string, traits = 0): void {
  if ((traits & SPACE_BEFORE) !== 0) page.line.space()
  let rest = text
  for (let start = START.exec(rest); start !== null; start = START.exec(rest)) {
    const end = ENDS.get(start[0]) as string
    const close = rest.indexOf(end, start.index + 2)
    if (start.index > 0) page.line.text(rest.slice(0, start.index))
    if (close < 0) {
      page.aside = new OpenTex(page, rest.slice(start.index) + ((traits & SPACE_AFTER) === 0 ? '' : ' '), end)
      return
    }
    const tex = rest.slice(start.index + 2, close)
    if (tex.trim() === '') page.line.text(rest.slice(start.index, close + 2))
    else writeTex(page, withoutComments(tex))
    rest = rest.slice(close + 2)
  }
  if (rest !== '') page.line.text(rest)
  if ((traits & SPACE_AFTER) !== 0) page.line.space()
}

/** TeX whose end has not arrived. It is text if an element begins or ends first. */
class OpenTex implements Aside {
  readonly #page: ElementPage
  readonly #end: string
  #text: string

  constructor(page: ElementPage, text: string, end: string) {
    this.#page = page
    this.#text = text
    this.#end = end
  }

  text(text: string): void {
    const from = Math.max(2, this.#text.length - 1)
    this.#text += text
    if (this.#text.includes(this.#end, from)) {
      this.#page.aside = undefined
      writeDelimited(this.#page, this.#text)
    } else if (this.#text.length > MAX_DELIMITED) this.#page.endAside()
  }

  enter(): void {
    this.#page.endAside()
  }

  endsAt(): boolean {
    return true
  }

  end(page: ElementPage): void {
    page.line.text(this.#text)
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
    page.formula = 'mjx-assistive-mml'
    return isRepeated ? 'skip' : undefined
  },
}
