import { elementNamed, KNOWN_NAMES } from '../text/names.js'
import * as blocks from './blocks.js'
import type { Family } from './element.js'
import { embeds } from './embeds.js'
import { frames } from './frames.js'
import * as leftOut from './left-out.js'
import * as links from './links.js'
import * as lists from './lists.js'
import * as math from './math.js'
import * as media from './media.js'
import * as tables from './tables.js'
import * as tex from './tex.js'
import * as text from './text.js'

/** All families of elements that have a meaning in Markdown. */
export const FAMILIES: readonly Family[] = [
  leftOut.dropped,
  leftOut.drawings,
  leftOut.header,
  leftOut.button,
  leftOut.noscripts,
  leftOut.templates,
  blocks.blocks,
  blocks.asides,
  blocks.divisions,
  blocks.figures,
  blocks.sections,
  blocks.paragraphs,
  blocks.headings,
  blocks.rules,
  blocks.quotes,
  blocks.summaries,
  blocks.preformatted,
  lists.lists,
  lists.items,
  lists.inputs,
  lists.definitionLists,
  lists.definitions,
  text.emphasis,
  text.strong,
  text.strikes,
  text.scripts,
  text.code,
  text.quotations,
  text.readings,
  text.rubies,
  text.lineBreaks,
  text.labels,
  links.links,
  links.spans,
  links.bases,
  media.images,
  media.pictures,
  media.sources,
  media.players,
  frames,
  embeds,
  math.formulas,
  math.formulaParts,
  math.annotations,
  tex.drawnFormulas,
  tex.spokenFormulas,
  tables.tables,
  tables.captions,
  tables.groups,
  tables.rows,
  tables.cells,
]

/** The family of each element. */
export const ELEMENTS: ReadonlyMap<string, Family> = new Map(
  FAMILIES.flatMap((family) => family.names.map((name) => [name, family])),
)

/** Start tag handler of each element, by its position in the table of names. */
export const OPEN: readonly Family['open'][] = byId((family) => family.open)

/** End tag handler of each element, by the same position. */
export const CLOSE: readonly Family['close'][] = byId((family) => family.close)

/** Whether the end tag of each element only ends an open part of the line, by the same position. */
export const IS_FORMAT: readonly boolean[] = byId((family) => family.isFormat === true).map(
  (isFormat) => isFormat === true,
)

/** Returns a table without holes. A lookup in the table is faster than any access to the family. */
function byId<T>(handlerOf: (family: Family) => T): (T | undefined)[] {
  const handlers = Array.from<T | undefined>({ length: KNOWN_NAMES + 1 }).fill(undefined)
  for (const [name, family] of ELEMENTS) handlers[elementNamed(name).id] = handlerOf(family)
  return handlers
}
