import type { Callout } from '../output/callout.js'
import { escapeInline } from '../output/escape.js'
import { collapse } from '../text/characters.js'
import type { Skip, Tag } from '../text/events.js'
import { attributeBits, elementNamed, KNOWN_NAMES } from '../text/names.js'
import type { Aside, ElementPage, Role } from './element.js'

/** Maximum characters of a title. The rest is dropped from the title, never from the page, because no title is so long. */
const MAX_TITLE = 400

/** Maximum characters of a class that is searched. */
const MAX_CLASS = 300

/** Words that name the frame of a callout. */
const FRAME =
  /(?:^|[\s_-])(?:admonition|callout|alert|custom-block|aside|notice|notecard|hint|message|markdown-alert|admonitionblock)(?:block)?(?=$|[\s_-])/i

/** The kind of each word that names one. */
const KINDS: ReadonlyMap<string, string> = new Map([
  ...['note', 'info', 'secondary', 'abstract', 'seealso', 'information', 'question', 'example'].map(
    (word) => [word, 'NOTE'] as const,
  ),
  ...['tip', 'hint', 'success'].map((word) => [word, 'TIP'] as const),
  ...['important', 'primary'].map((word) => [word, 'IMPORTANT'] as const),
  ...['warning', 'attention', 'warn'].map((word) => [word, 'WARNING'] as const),
  ...['caution', 'danger', 'error', 'failure', 'bug'].map((word) => [word, 'CAUTION'] as const),
])

const KIND_WORDS = [...KINDS.keys()].join('|')
const KIND = new RegExp(`(?:^|[\\s_-])(${KIND_WORDS})(?=$|\\s|[-_](?!list|item|title|content|body|icon|header))`, 'gi')

/** The only classes of a frame without any word for a frame. */
const ALONE = new RegExp(`^\\s*(note|warning|tip|important|caution)(?:\\s+(${KIND_WORDS}))?\\s*$`, 'i')

/** Classes of the title of a callout. */
const TITLE = /(?:title|heading|header|summary)(?:$|[\s_-])/i

/** Bold text at the start of a callout that names its kind. */
const BOLD_KIND = new RegExp(`^\\*\\*(?:${KIND_WORDS})\\s*[:.!]?\\s*\\*\\*\\s*:?\\s*`, 'i')

/** Whether an element may be a callout, by its position in the table of names. */
export const IS_FRAME = new Uint8Array(KNOWN_NAMES + 1)
for (const name of ['div', 'aside', 'section', 'blockquote']) IS_FRAME[elementNamed(name).id] = 1

const BITS = attributeBits('class', 'data-callout', 'data-admonition', 'role')

/** Three letters that begin a word of the patterns above, as the bits of the third letter by the first two. */
const STARTS = new Int32Array(1024)
for (const word of [
  'admonition',
  'callout',
  'alert',
  'custom',
  'aside',
  'notice',
  'hint',
  'message',
  'note',
  'warning',
  'tip',
  'important',
  'caution',
])
  STARTS[pairOf(word.charCodeAt(0), word.charCodeAt(1))]! |= 1 << (word.charCodeAt(2) & 31)

/** Returns the place of two letters in either case. */
function pairOf(first: number, second: number): number {
  return ((first & 31) << 5) | (second & 31)
}

/** Returns 1 if a word of an undecoded class begins like one of the words above. */
function mayFrame(units: ArrayLike<number>, start: number, end: number): number {
  let isStart = true
  for (let at = start | 0; at < end - 2; at++) {
    const char = units[at] as number
    const isLetter = (char | 0x20) >= 0x61 && (char | 0x20) <= 0x7a
    if (isStart && isLetter) {
      const thirds = STARTS[pairOf(char, units[at + 1] as number)] as number
      if (((thirds >> ((units[at + 2] as number) & 31)) & 1) === 1) return 1
    }
    isStart = !isLetter
  }
  return 0
}

/** Returns whether an element may be a callout. `calloutOf` decides it. */
export const mayBeCallout = (tag: Tag): boolean =>
  IS_FRAME[tag.id] === 1 && (tag.attributeBits & BITS) !== 0 && tag.attributeUnits('class', mayFrame) !== 0

/** Returns the kind of the callout that an element is, in upper case. */
function kindOf(tag: Tag): string | undefined {
  const classes = (tag.attribute('class') ?? '').slice(0, MAX_CLASS)
  const alone = ALONE.exec(classes)
  if (alone !== null) return KINDS.get((alone[2] ?? alone[1] ?? '').toLowerCase())
  const data = tag.attribute('data-callout') ?? tag.attribute('data-admonition')
  if (data === undefined && tag.attribute('role') !== 'note' && !FRAME.test(classes)) return undefined
  let kind: string | undefined
  for (const [, word] of `${data ?? ''} ${classes}`.matchAll(KIND)) {
    const lower = (word as string).toLowerCase()
    // `hint` is a frame, too. Any other word decides.
    if (kind === undefined || lower !== 'hint') kind = KINDS.get(lower)
    if (lower !== 'hint') break
  }
  return kind ?? KINDS.get((tag.attribute('aria-label') ?? '').trim().toLowerCase())
}

/** Returns the role of an element that is a callout. */
export function calloutOf(page: ElementPage, tag: Tag): Role | undefined {
  if (IS_FRAME[tag.id] !== 1 || !page.readsCallouts || (page.table !== undefined && page.table.state !== 'layout'))
    return undefined
  if (page.heading > 0 || page.line.inLink) return undefined
  const kind = kindOf(tag)
  if (kind === undefined) return undefined
  return {
    open() {
      page.beginBlock()
      page.callout = page.writer.openCallout(kind)
    },
    close() {
      page.endHeading()
      page.endBlock()
      page.callout = undefined
      page.writer.closeQuote()
    },
  }
}

/** Begins the title of the open callout, if a tag has the class of one. Returns whether it did. */
export function beginTitle(page: ElementPage, tag: Tag): boolean {
  const { callout } = page
  if (callout === undefined || page.aside !== undefined) return false
  if (!callout.isEmpty || !page.line.isEmpty || !TITLE.test(tag.attribute('class') ?? '')) return false
  page.aside = new CalloutTitle(tag.name)
  return true
}

/** A block that is bold as a whole, which is the title of a callout. */
const BOLD = /^\*\*((?:[^*\\]|\\.){1,200})\*\*$/

/**
 * Returns the first block of a callout without bold text that only names its kind. Returns '' for a block that is the title
 * of the callout.
 */
export function withoutKind(callout: Callout, markdown: string): string {
  const rest = markdown.replace(BOLD_KIND, '')
  const title = rest === markdown ? BOLD.exec(markdown)?.[1] : undefined
  if (title === undefined) return rest
  callout.setHead(`[!${callout.kind}] ${title}`)
  return ''
}

const SKIPPED = new Set(['svg', 'style', 'script', 'template', 'button', 'noscript'])

class CalloutTitle implements Aside {
  readonly isClosed = true
  readonly #name: string
  #text = ''
  #inside = 0

  constructor(name: string) {
    this.#name = name
  }

  text(text: string): void {
    if (this.#text.length < MAX_TITLE) this.#text += text
  }

  enter(tag: Tag): Skip | void {
    if (SKIPPED.has(tag.name)) return 'skip'
    if (tag.name === this.#name) this.#inside++
    return undefined
  }

  endsAt(name: string): boolean {
    return name === this.#name && this.#inside-- === 0
  }

  end(page: ElementPage): void {
    const { callout } = page
    page.callout = undefined
    const title = collapse(this.#text).trim()
    if (callout === undefined || title === '' || KINDS.has(title.replace(/[:.!]$/, '').toLowerCase())) return
    const text = escapeInline(title, { before: 'space', spaceAfter: false, inLink: false, inStrike: false })
    callout.setHead(`[!${callout.kind}] ${text}`)
  }
}
