import type { Tag } from '../text/events.js'
import { MATH_ELEMENTS, MathReader } from './mathml.js'
import { CONTAINERS, type Aside, type ElementPage, type Family } from './element.js'
import { texAttribute, writeTex } from './tex.js'

/** Formulas. Their TeX is written if the page has it, otherwise their text. */
export const formulas: Family = {
  names: ['math'],
  open(page, tag) {
    const tex = tag.attribute('alttext') ?? texAttribute(tag)
    if (tex !== undefined && tex.trim() !== '') {
      writeTex(page, tex)
      page.formula = tex.trim()
      return 'skip'
    }
    page.endAside()
    page.aside = new Formula(page.formula !== 'mjx-assistive-mml')
    page.formula = undefined
    return undefined
  },
}

/** Parts of a formula. */
export const formulaParts: Family = {
  names: MATH_ELEMENTS,
  open(page, tag) {
    if (!(page.aside instanceof Formula)) return
    page.aside.open(tag.name, fencesOf(tag))
    if (tag.selfClosing) page.aside.close(tag.name)
  },
  close(page, name) {
    if (page.aside instanceof Formula) page.aside.close(name)
  },
}

const fencesOf = (tag: Tag): readonly [open: string, close: string] | undefined =>
  tag.name === 'mfenced' ? [tag.attribute('open') ?? '(', tag.attribute('close') ?? ')'] : undefined

/** A repetition of the formula in the notation that `encoding` names. */
export const annotations: Family = {
  names: ['annotation', 'annotation-xml'],
  open(page, tag) {
    const encoding = tag.attribute('encoding') ?? ''
    if (!(page.aside instanceof Formula) || !/^(?:application\/x-tex|tex|latex)$/i.test(encoding)) return 'skip'
    page.aside.inTex = true
    return undefined
  },
  close(page) {
    if (page.aside instanceof Formula) page.aside.inTex = false
  },
}

/** Elements that do not change the meaning of the text of a formula. */
const SIMPLE = new Set(['mrow', 'mi', 'mn', 'mo', 'mtext', 'mstyle', 'semantics'])

class Formula implements Aside {
  inTex = false
  readonly #reader = new MathReader()
  /** Whether the formula has only text, letters and numbers so far, so no TeX is needed. */
  #isPlain: boolean
  #text = ''
  #tex = ''

  /** A formula that a script has drawn is never plain. */
  constructor(isPlain: boolean) {
    this.#isPlain = isPlain
  }

  open(name: string, fences: readonly [open: string, close: string] | undefined): void {
    if (!SIMPLE.has(name)) this.#isPlain = false
    this.#reader.open(name, fences)
  }

  close(name: string): void {
    this.#reader.close(name)
  }

  text(text: string): void {
    if (this.inTex) this.#tex += text
    else {
      this.#text += text
      this.#reader.text(text)
    }
  }

  endsAt(name: string): boolean {
    return name === 'math' || CONTAINERS.has(name)
  }

  end(page: ElementPage): void {
    const tex = this.#tex.trim() === '' && !this.#isPlain ? this.#reader.toString() : this.#tex
    if (tex.trim() === '') page.line.text(this.#text)
    else {
      writeTex(page, tex)
      page.formula = tex.trim()
    }
  }
}
