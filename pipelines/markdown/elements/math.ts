import { codeSpan } from '../escape.js'
import { CONTAINERS, type Aside, type ElementPage, type Family } from './element.js'

/** Formulas: their TeX where the page has it, otherwise their text. */
export const formulas: Family = {
  names: ['math'],
  open(page, tag) {
    const tex = tag.attribute('alttext')
    if (tex !== undefined && tex.trim() !== '') {
      writeTex(page, tex)
      return 'skip'
    }
    page.endAside()
    page.aside = new Formula()
    return undefined
  },
}

/** A formula once more, in the notation that `encoding` names. */
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

class Formula implements Aside {
  inTex = false
  #text = ''
  #tex = ''

  text(text: string): void {
    if (this.inTex) this.#tex += text
    else this.#text += text
  }

  endsAt(name: string): boolean {
    return name === 'math' || CONTAINERS.has(name)
  }

  end(page: ElementPage): void {
    if (this.#tex.trim() === '') page.line.text(this.#text)
    else writeTex(page, this.#tex)
  }
}

/** GitHub's form of a formula that needs no escaping: TeX in a code span. */
function writeTex(page: ElementPage, tex: string): void {
  page.line.text('$')
  page.line.markdown(codeSpan(tex.trim()))
  page.line.text('$')
}
