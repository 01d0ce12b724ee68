import { attributeBits } from '../text/names.js'
import { isReachable } from '../text/address.js'
import { codeAt, lengthOf } from '../text/characters.js'
import type { Tag } from '../text/events.js'
import type { ElementPage, Family } from './element.js'
import { BACK_TEXT, beginMark, beginNamedMark, fragmentOf, NAMED_BITS } from './footnotes.js'
import { markOf, sharesPage } from './marks.js'
import { images } from './media.js'
import { isSideNote } from './side-notes.js'
import { openFormula, TEX_BITS } from './tex.js'

/** The `attributeBit` of each attribute that few links have. */
const RARE_BITS = attributeBits('data-cfemail', 'aria-label')

/** Addresses and elements with a mail address that Cloudflare hides from crawlers. */
const HIDDEN_MAIL = /\/cdn-cgi\/l\/email-protection#([\da-f]+)$/i

export const links: Family = {
  names: ['a'],
  open(page, tag) {
    const { line } = page
    line.close('a')
    const href = tag.attribute('href')
    const plain = tag.valueIsPlain
    const isRare = (tag.attributeBits & RARE_BITS) !== 0
    const mail =
      (isRare ? hiddenMail(tag) : undefined) ??
      (href !== undefined && endsInHex(href) ? decodeMail(HIDDEN_MAIL.exec(href)?.[1]) : undefined)
    const url = mail !== undefined ? `mailto:${mail}` : href && page.addresses.resolve(href, plain)
    if (url === undefined || !isReachable(url)) {
      line.open('plain', 'a')
      return undefined
    }
    const isOnPage = mail === undefined && href !== undefined && page.addresses.isOnPage(href)
    // A place on the page as it is written, because addresses may be absolute.
    const local = isOnPage ? href : url
    const inNote = isOnPage && page.footnotes !== undefined && page.inNote
    const noise = inNote ? BACK_TEXT : markOf(tag, local, page.heading > 0)
    if (noise === 'skip') return 'skip'
    const title = tag.attribute('title')
    const plainTitle = title === undefined || tag.valueIsTitle
    // Adjacent links with a class are displayed apart.
    if (line.isAfterLink && tag.attribute('class') !== undefined) line.space()
    // A link to the page itself without text is a mark for the mouse, as after headings.
    const name = isOnPage || !isRare ? undefined : tag.attribute('aria-label')
    const link = {
      url,
      plain: plain && url === href,
      title,
      plainTitle,
      name: name === undefined || sharesPage(url) ? undefined : name,
      noise,
      fragment: isOnPage && href.length > 2 ? href : undefined,
    }
    if (page.readsNotes) {
      const fragment = isOnPage ? local : fragmentOf(tag, url)
      if (fragment !== undefined && beginMark(page, tag, fragment, link)) return undefined
    }
    line.openLink('a', link)
    if (mail === undefined || !tag.attributes().has('data-cfemail')) return undefined
    line.text(mail)
    line.close('a')
    return 'skip'
  },
  close(page) {
    const { line } = page
    const { linkBlocks } = line
    line.close('a')
    if (linkBlocks > 0 && page.heading === 0) page.endBlock()
  },
}

const LETTER_L = 0x6c
const LETTER_M = 0x6d
const LETTER_S = 0x73

/** The `attributeBit` of each attribute that gives a `span` a meaning. */
const SPAN_BITS = attributeBits('class', 'style', 'data-cfemail') | TEX_BITS | NAMED_BITS

/** Elements without meaning except for their class or style. */
export const spans: Family = {
  names: ['span'],
  open(page, tag) {
    if ((tag.attributeBits & SPAN_BITS) === 0) return undefined
    const mail = hiddenMail(tag)
    if (mail !== undefined) {
      page.line.text(mail)
      return 'skip'
    }
    const first = tag.attributeFirst('class')
    if (first === LETTER_M && tag.attributeStarts('class', 'mw-editsection')) return 'skip'
    if (first === LETTER_L && isLeftOut(page, tag)) return 'skip'
    if (openFormula(page, tag, first) === 'skip') return 'skip'
    if (beginNamedMark(page, tag)) return undefined
    if (((first | 0x20) === LETTER_S || (first | 0x20) === LETTER_M) && isSideNote(page, tag)) page.beginSideNote(tag)
    else if (drawsBox(tag)) page.line.space()
    return undefined
  },
}

/** Writes the image that MediaWiki replaces by a span for phones. Returns whether the contents of a span are left out. */
function isLeftOut(page: ElementPage, tag: Tag): boolean {
  const classes = tag.attribute('class') ?? ''
  if (classes.startsWith('lazy-image-placeholder')) {
    images.open?.(page, tag)
    return true
  }
  // The name of the language above a program, which the fence has.
  return classes === 'lang' && page.language !== undefined
}

/** Returns whether the style of an inline element makes it a box that is separate from its neighbours. */
function drawsBox(tag: Tag): boolean {
  const style = tag.attribute('style')
  return style !== undefined && /display\s*:\s*(?:inline-)?(?:block|flex|grid|table)/i.test(style)
}

const hiddenMail = (tag: Tag): string | undefined => decodeMail(tag.attribute('data-cfemail'))

/**
 * Returns whether the last two characters are hexadecimal digits. Only few addresses need the slower check after it.
 */
function endsInHex(text: string): boolean {
  const length = lengthOf(text)
  return length > 1 && isHex(codeAt(text, length - 1)) && isHex(codeAt(text, length - 2))
}

const isHex = (char: number): boolean =>
  (char >= 0x30 && char <= 0x39) || ((char | 0x20) >= 0x61 && (char | 0x20) <= 0x66)

/** Decodes a mail address in hexadecimal digits. The first two are the key of the others. */
function decodeMail(hex: string | undefined): string | undefined {
  if (hex === undefined || !/^(?:[\da-f]{2}){4,256}$/i.test(hex)) return undefined
  const [key = 0, ...bytes] = Buffer.from(hex, 'hex')
  const mail = Buffer.from(bytes.map((byte) => byte ^ key)).toString()
  return /^[^\s<>()[\]\\,;:"@]+@[^\s<>()[\]\\,;:"@]+$/.test(mail) ? mail : undefined
}

export const bases: Family = {
  names: ['base'],
  open(page: ElementPage, tag) {
    const href = tag.attribute('href')
    if (href !== undefined) page.addresses.base = href
  },
}
