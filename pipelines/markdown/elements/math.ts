import { codeSpan } from '../escape.js'
import type { Page } from '../page.js'
import type { Family } from './element.js'

/** Formulas: their TeX where the page has it, otherwise their text. */
export const formulas: Family = {
  names: ['math'],
  open(page, tag) {
    const tex = tag.attribute('alttext')
    if (tex !== undefined && tex.trim() !== '') {
      writeTex(page, tex)
      return 'skip'
    }
  },
}

/** A formula in the notation that its `encoding` names. */
export const annotations: Family = {
  names: ['annotation', 'annotation-xml'],
  open: () => 'skip',
}

/** GitHub's form that needs no escaping: the TeX stands in a code span. */
function writeTex(page: Page, tex: string): void {
  page.line.text('$')
  page.line.markdown(codeSpan(tex.trim()))
  page.line.text('$')
}
