import { beginSuperscript } from './footnotes.js'
import type { Tag } from '../text/events.js'
import { attributeBits } from '../text/names.js'
import { beginCode } from './blocks.js'
import { words, type ElementPage, type Family } from './element.js'
import { beginToggle } from './side-notes.js'

export const emphasis: Family = {
  names: words('em i var dfn cite'),
  open: (page, tag) => page.line.open('emphasis', tag.name),
  isFormat: true,
}

export const strong: Family = {
  names: words('strong b'),
  open: (page, tag) => page.line.open('strong', tag.name),
  isFormat: true,
}

export const strikes: Family = {
  names: words('del s strike'),
  open: (page, tag) => page.line.open('strike', tag.name, '~~'),
  isFormat: true,
}

/** Elements without marks in Markdown, which GFM writes as these tags. */
export const scripts: Family = {
  names: ['sub', 'sup'],
  open(page, tag) {
    if (tag.name === 'sup' && page.readsNotes && beginSuperscript(page, tag)) return
    page.line.open('markup', tag.name, tag.name)
  },
  isFormat: true,
}

const FORM_BITS = attributeBits('class', 'style')
const BLOCK_CLASS = /(?:^|\s)(?:code-?)?block(?=\s|$)/
const BLOCK_STYLE = /(?<![\w-])(?:display\s*:\s*block|white-space\s*:\s*pre(?!-line))/i

/** Returns whether a page displays code without a `pre` as a block. */
const isBlock = ({ line, heading }: ElementPage, tag: Tag): boolean =>
  (tag.attributeBits & FORM_BITS) !== 0 &&
  tag.name === 'code' &&
  heading === 0 &&
  line.isEmpty &&
  !line.inLink &&
  (BLOCK_CLASS.test(tag.attribute('class') ?? '') || BLOCK_STYLE.test(tag.attribute('style') ?? ''))

export const code: Family = {
  names: words('code kbd samp tt'),
  open(page, tag) {
    if (isBlock(page, tag)) beginCode(page, tag)
    else page.line.openCode(tag.name)
  },
  isFormat: true,
}

export const quotations: Family = {
  names: ['q'],
  open: (page) => page.line.text('"'),
  close: (page) => page.line.text('"'),
}

/** The reading of a text follows it in parentheses. */
export const readings: Family = {
  names: ['rt'],
  open(page) {
    if (page.reading) page.line.text(')')
    page.reading = true
    page.line.text('(')
  },
  close(page) {
    if (page.reading) page.line.text(')')
    page.reading = false
  },
}

export const rubies: Family = {
  names: ['ruby', 'rb', 'rtc'],
  close(page) {
    if (page.reading) page.line.text(')')
    page.reading = false
  },
}

export const lineBreaks: Family = {
  names: ['br'],
  open(page) {
    const { line } = page
    if (page.heading > 0 || line.inLink) line.space()
    else if (line.isBroken) page.endBlock()
    else line.lineBreak()
  },
  // `</br>` is read as `<br>`. WHATWG HTML, 13.2.6.4.7.
  close: (page) => page.line.lineBreak(),
}

export const labels: Family = {
  names: ['label'],
  open(page, tag) {
    if (!beginToggle(page, tag)) page.line.space()
  },
  close: (page) => page.line.space(),
}
