import type { Tag } from '../text/events.js'
import { isCodeView, languageAround } from '../text/language.js'
import { words, type ElementPage, type Family } from './element.js'
import { endNoteInParagraph } from './footnotes.js'
import { isForSharing } from './marks.js'
import { openFormula } from './tex.js'

const UPPER_B = 0x42
const LETTER_C = 0x63
const LETTER_L = 0x6c
const LETTER_T = 0x74

/** Elements that begin and end a block and have no other meaning. */
export const blocks: Family = {
  names: words(`address body center details dir figcaption fieldset form hgroup html legend menu optgroup
    option search`),
  open: (page) => page.boundary(),
  close: (page) => page.boundary(),
}

export const asides: Family = {
  names: ['aside'],
  open: (page, tag) => (isForSharing(tag) ? 'skip' : page.boundary()),
  close: (page) => page.boundary(),
}

export const divisions: Family = {
  names: ['div'],
  open(page, tag) {
    page.boundary()
    const first = tag.attributeFirst('class')
    if (openFormula(page, tag, first) === 'skip') return 'skip'
    // Highlighters name the language of a `pre` on an element around it.
    if (
      tag.attributeIncludes('class', 'highlight-') ||
      (first === LETTER_L && tag.attributeStarts('class', 'language-')) ||
      (first === LETTER_T && tag.attributeStarts('class', 'type-')) ||
      (first === UPPER_B && tag.attributeIncludes('class', 'blob-wrapper')) ||
      (first === LETTER_C && tag.attributeStarts('class', 'code-block'))
    )
      page.language = languageAround(tag) ?? page.language
    else if (isCodeView(tag, first)) beginCode(page, tag)
    return undefined
  },
  close: (page) => page.boundary(),
}

export const figures: Family = {
  names: ['figure'],
  open(page, tag) {
    page.figures++
    page.boundary()
    if (tag.attributeStarts('class', 'highlight')) page.language = languageAround(tag) ?? page.language
  },
  close(page) {
    if (page.figures > 0) page.figures--
    page.boundary()
  },
}

export const sections: Family = {
  names: ['article', 'main', 'section'],
  open(page) {
    page.sections++
    page.boundary()
  },
  close(page) {
    if (page.sections > 0) page.sections--
    page.boundary()
  },
}

export const paragraphs: Family = {
  names: ['p'],
  open(page) {
    page.boundary()
    if (page.kind === 'text') page.kind = 'paragraph'
  },
  close(page) {
    const { loneLink } = page.line
    page.boundary()
    // A link in a separate paragraph is meant to be there, even if it has no name.
    if (loneLink !== '' && page.kind === 'paragraph' && page.table === undefined)
      page.writer.leaf('paragraph', loneLink)
    if (page.footnotes !== undefined) endNoteInParagraph(page)
    if (page.kind === 'paragraph') page.kind = 'text'
  },
}

export const headings: Family = {
  names: words('h1 h2 h3 h4 h5 h6'),
  open: (page, tag) => openHeading(page, tag.name.charCodeAt(1) - 0x30),
  close(page) {
    if (page.heading > 0) page.endHeading()
    else page.boundary()
  },
}

export function openHeading(page: ElementPage, level: number): void {
  const { inLink } = page.line
  page.line.close('summary')
  // One link is enough, which is the link of the heading.
  if (inLink) page.line.leaveLink()
  page.beginBlock()
  if (inLink) page.line.relink()
  page.heading = level
}

export const rules: Family = {
  names: ['hr'],
  open(page) {
    // Between the rows of a data table it is decoration.
    if (page.table !== undefined && page.table.state !== 'layout') page.boundary()
    else if (page.beginBlock()) {
      if (page.footnotes === undefined) page.writer.leaf('rule', '***')
      else page.writer.hold('rule', '***')
    }
  },
}

export const quotes: Family = {
  names: ['blockquote'],
  open(page) {
    if (page.beginBlock()) page.writer.openQuote()
  },
  close(page) {
    page.endHeading()
    page.endBlock()
    if (page.table?.state !== 'data') page.writer.closeQuote()
  },
}

/** A summary is the visible part of folded details and is written before them. */
export const summaries: Family = {
  names: ['summary'],
  open(page) {
    page.boundary()
    page.line.open('strong', 'summary')
  },
  close(page) {
    page.line.close('summary')
    page.boundary()
  },
}

export const preformatted: Family = {
  names: words('pre listing xmp plaintext'),
  open: beginCode,
}

export function beginCode(page: ElementPage, tag: Tag): void {
  page.endHeading()
  page.endBlock()
  page.beginPreformatted(tag)
}
