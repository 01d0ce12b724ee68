import type { Tag } from '../events.js'
import { attributeBit } from '../names.js'
import { words, type Family } from './element.js'

/** What is never content. */
export const DROPPED: ReadonlySet<string> = new Set(
  words(`style template noscript title nav footer dialog svg canvas object applet embed noembed noframes frameset
    select textarea datalist progress meter map rp area`),
)

const ROLES = new Set(words('banner contentinfo navigation search dialog alertdialog'))

export const dropped: Family = { names: [...DROPPED], open: () => 'skip' }

/** A page's own header goes; that of an article or a section usually has its title. HTML-AAM: no banner there. */
export const header: Family = {
  names: ['header'],
  open(page) {
    if (page.sections === 0) return 'skip'
    return page.boundary()
  },
  close: (page) => page.boundary(),
}

/** Some pages wrap the text of a heading in a button that folds what is below. */
export const button: Family = {
  names: ['button'],
  open: (page) => (page.heading > 0 ? undefined : 'skip'),
}

/** The `attributeBit` of each attribute that `isHidden` reads. */
const HIDING = ['role', 'hidden', 'aria-hidden', 'style']
  .map((name) => attributeBit(name.charCodeAt(0), name.length))
  .reduce((bits, bit) => bits | bit)

/** Whether the element is not to be seen, or is by its role a part that is left out. */
export function isHidden(tag: Tag): boolean {
  if ((tag.attributeBits & HIDING) === 0) return false
  const role = tag.attribute('role')
  if (role !== undefined && ROLES.has(role.trim().toLowerCase())) return true
  const hidden = tag.attribute('hidden')
  if (hidden !== undefined && hidden !== 'until-found') return true
  if (tag.attribute('aria-hidden') === 'true') return true
  const style = tag.attribute('style')
  return style !== undefined && /(?:display\s*:\s*none|visibility\s*:\s*hidden)/i.test(style)
}
