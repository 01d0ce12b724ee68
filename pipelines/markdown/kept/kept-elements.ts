import * as blocks from '../elements/blocks.js'
import { words, type Family } from '../elements/element.js'
import { frames } from '../elements/frames.js'
import { header } from '../elements/left-out.js'
import { ELEMENTS } from '../elements/index.js'
import * as links from '../elements/links.js'
import * as lists from '../elements/lists.js'
import * as math from '../elements/math.js'
import * as media from '../elements/media.js'
import * as tables from '../elements/tables.js'
import * as tex from '../elements/tex.js'
import * as text from '../elements/text.js'
import { elementNamed, KNOWN_NAMES } from '../text/names.js'

/**
 * Way of writing an element if HTML is retained that Markdown cannot express.
 *
 * - `as ever` writes it as usual.
 * - `block` writes it as usual, but it begins a block, so that it ends a line of HTML.
 * - `container` retains its tags, each on a separate line. Its contents are Markdown.
 * - `definitions` is a definition list, which cannot contain containers.
 * - `cell` is a row or a cell of a table.
 * - `inline` is Markdown in a paragraph, HTML outside.
 * - `player` and `frame` are like `inline`, but they never begin a paragraph.
 * - `formula` is like `inline`, but it never begins a block of HTML.
 * - `unknown` cannot be expressed in Markdown without extensions, so its tags are retained in a paragraph as well.
 */
export type Keeping =
  'as ever' | 'block' | 'container' | 'definitions' | 'cell' | 'inline' | 'player' | 'frame' | 'formula' | 'unknown'

/** Elements of the family of blocks that do not describe their contents, or whose contents are dropped. */
const BLOCKS = new Set(words('body dir form hgroup html menu optgroup option search'))

/** Elements without a family that have no meaning in the body, or would begin a block of HTML in a paragraph. */
const NOTHING = words('script basefont bgsound col colgroup frame head keygen link menuitem meta param')

const FAMILIES: readonly (readonly [Keeping, readonly Family[]])[] = [
  ['container', [blocks.blocks, blocks.divisions, blocks.figures, blocks.sections, blocks.summaries, header]],
  ['block', [blocks.paragraphs, blocks.headings, blocks.rules, blocks.quotes, blocks.preformatted]],
  ['block', [lists.lists, lists.items, lists.definitions, tables.captions, tables.groups]],
  ['definitions', [lists.definitionLists]],
  ['block', [tables.tables]],
  ['cell', [tables.rows, tables.cells]],
  ['inline', [text.emphasis, text.strong, text.scripts, text.code, text.quotations, text.lineBreaks]],
  ['inline', [text.readings, text.rubies, links.links, media.images, media.pictures, media.sources]],
  ['formula', [math.formulas, math.formulaParts, math.annotations, tex.drawnFormulas, tex.spokenFormulas]],
  ['player', [media.players]],
  ['frame', [frames]],
  ['unknown', [text.strikes, links.spans]],
]

const KEPT: ReadonlyMap<string, Keeping> = new Map([
  // It begins a block of HTML, but inside one it belongs to the player.
  ['track', 'inline'],
  ...[...ELEMENTS.keys(), ...NOTHING].map((name) => [name, 'as ever'] as const),
  ...FAMILIES.flatMap(([keeping, families]) =>
    families.flatMap(({ names }) => names.map((name) => [name, BLOCKS.has(name) ? 'block' : keeping] as const)),
  ),
])

/**
 * Way of writing an element, by its position in the table of names. Undefined for elements that are looked up by name.
 */
const BY_ID: readonly (Keeping | undefined)[] = (() => {
  const kept = Array.from<Keeping | undefined>({ length: KNOWN_NAMES + 1 })
  for (const [name, keeping] of KEPT) if (name !== 'menuitem') kept[elementNamed(name).id] = keeping
  return kept
})()

/** Returns how an element of that name is written, by its position in the table of names. */
export const keepingOf = (name: string, id: number): Keeping => BY_ID[id] ?? KEPT.get(name) ?? 'unknown'
