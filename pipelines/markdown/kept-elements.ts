import * as blocks from './elements/blocks.js'
import { words, type Family } from './elements/element.js'
import { header } from './elements/left-out.js'
import { ELEMENTS } from './elements/index.js'
import * as links from './elements/links.js'
import * as lists from './elements/lists.js'
import * as math from './elements/math.js'
import * as media from './elements/media.js'
import * as tables from './elements/tables.js'
import * as text from './elements/text.js'
import { elementNamed, KNOWN_NAMES } from './names.js'

/**
 * What becomes of an element where what Markdown has no words for stays HTML.
 *
 * - `as ever`: what becomes of it otherwise
 * - `block`: the same, and it begins a block, so that it ends a line of HTML
 * - `container`: its tags stay, each on a line of its own, and its contents are Markdown
 * - `definitions`: a list of them, which has no place for containers
 * - `cell`: a row or a cell of a table
 * - `inline`: Markdown of a paragraph, and HTML outside of one
 * - `player`, `frame`: the same, and they never begin a paragraph
 * - `formula`: the same, and it never begins a block of HTML
 * - `unknown`: Markdown has no words for it, so its tags stay inside of a paragraph as well
 */
export type Keeping =
  'as ever' | 'block' | 'container' | 'definitions' | 'cell' | 'inline' | 'player' | 'frame' | 'formula' | 'unknown'

/** Elements of the family of blocks that say nothing of their contents, or whose contents are left out. */
const BLOCKS = new Set(words('body dir form hgroup html menu optgroup option search'))

/** Elements without a family that mean nothing where they stand, or would begin a block of HTML in a paragraph. */
const NOTHING = words('script basefont bgsound col colgroup frame head keygen link menuitem meta param')

const FAMILIES: readonly (readonly [Keeping, readonly Family[]])[] = [
  ['container', [blocks.blocks, blocks.divisions, blocks.figures, blocks.sections, blocks.summaries, header]],
  ['block', [blocks.paragraphs, blocks.headings, blocks.rules, blocks.quotes, blocks.preformatted]],
  ['block', [lists.lists, lists.items, lists.definitions, tables.captions, tables.groups]],
  ['definitions', [lists.definitionLists]],
  ['block', [tables.tables]],
  ['cell', [tables.rows, tables.cells]],
  ['inline', [text.emphasis, text.strong, text.strikes, text.scripts, text.code, text.quotations, text.lineBreaks]],
  ['inline', [text.readings, text.rubies, links.links, media.images, media.pictures, media.sources]],
  ['formula', [math.formulas, math.formulaParts, math.annotations]],
  ['player', [media.players]],
  ['frame', [media.frames]],
  ['unknown', [links.spans]],
]

const KEPT: ReadonlyMap<string, Keeping> = new Map([
  // It begins a block of HTML, but in one it belongs to what plays.
  ['track', 'inline'],
  ...[...ELEMENTS.keys(), ...NOTHING].map((name) => [name, 'as ever'] as const),
  ...FAMILIES.flatMap(([keeping, families]) =>
    families.flatMap(({ names }) => names.map((name) => [name, BLOCKS.has(name) ? 'block' : keeping] as const)),
  ),
])

/** By an element's place in the table of names; undefined for those to be looked up by their name. */
const BY_ID: readonly (Keeping | undefined)[] = (() => {
  const kept = Array.from<Keeping | undefined>({ length: KNOWN_NAMES + 1 })
  for (const [name, keeping] of KEPT) if (name !== 'menuitem') kept[elementNamed(name).id] = keeping
  return kept
})()

/** What becomes of an element of that name, by its place in the table of names. */
export const keepingOf = (name: string, id: number): Keeping => BY_ID[id] ?? KEPT.get(name) ?? 'unknown'
