import { isReachable } from '../address.js'
import { codeAt } from '../characters.js'
import type { Family } from './element.js'

export const links: Family = {
  names: ['a'],
  open(page, tag) {
    const { line } = page
    line.close('a')
    const href = tag.attribute('href')
    const plain = tag.valueIsPlain
    const url = href === undefined ? undefined : page.addresses.resolve(href, plain)
    if (url === undefined || !isReachable(url)) {
      line.open('plain', 'a')
      return
    }
    // What has no text and leads to the page itself is a mark for the mouse, such as those behind headings.
    const name = url !== '' && codeAt(url, 0) === 0x23 ? undefined : tag.attribute('aria-label')
    line.openLink('a', { url, plain: plain && url === href, title: tag.attribute('title'), name })
  },
  close(page) {
    const { line } = page
    const { linkBlocks } = line
    line.close('a')
    if (linkBlocks > 0 && page.heading === 0) page.endBlock()
  },
}

export const bases: Family = {
  names: ['base'],
  open(page, tag) {
    const href = tag.attribute('href')
    if (href !== undefined) page.addresses.base = href
  },
}
