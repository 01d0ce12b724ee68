import type { Tag } from '../text/events.js'
import { attributeBits, elementNamed } from '../text/names.js'
import { headings, openHeading } from './blocks.js'
import type { ElementPage, Role } from './element.js'
import { cells, openCell, rows, tables } from './tables.js'

const table: Role = { open: (page, tag) => void tables.open?.(page, tag), close: tables.close! }
const cell: Role = { open: (page, tag) => openCell(page, tag, false), close: cells.close! }
const headerCell: Role = { open: (page, tag) => openCell(page, tag, true), close: cells.close! }

/** Roles that are read as the element of that meaning. WAI-ARIA 1.2, 5.4. */
const ROLES: ReadonlyMap<string, Role> = new Map([
  ['heading', { open: (page, tag) => openHeading(page, levelOf(tag)), close: headings.close! }],
  ['table', table],
  ['grid', table],
  ['treegrid', table],
  ['row', { open: (page, tag) => void rows.open?.(page, tag), close: rows.close! }],
  ['cell', cell],
  ['gridcell', cell],
  ['columnheader', headerCell],
  ['rowheader', headerCell],
])

/** The `attributeBit` of the attribute that names a role. */
export const ROLE_BIT = attributeBits('role')

const NEUTRAL: ReadonlySet<number> = new Set(['div', 'span', 'p'].map((name) => elementNamed(name).id))

/** Returns the role of an element that has no meaning of its own. */
export const roleOf = (tag: Tag): Role | undefined =>
  NEUTRAL.has(tag.id) ? ROLES.get(tag.attribute('role')?.trim().toLowerCase() ?? '') : undefined

/** Returns the level of a heading: 2 if it is missing or no number. WAI-ARIA 1.2, 6.6. */
function levelOf(tag: Tag): number {
  const level = Number(tag.attribute('aria-level') ?? 2)
  return level >= 1 ? Math.min(Math.floor(level), 6) : 2
}

/** Maximum number of open elements with a role. Deeper ones have none. */
const MAX_OPEN = 32

/** Open elements that have a role. An end tag of the same name may belong to an element inside them. */
export class OpenRoles {
  readonly #open: { readonly name: string; readonly role: Role; inside: number }[] = []

  get isEmpty(): boolean {
    return this.#open.length === 0
  }

  /** Returns false if the element is too deep to have a role. */
  begin(name: string, role: Role): boolean {
    if (this.#open.length >= MAX_OPEN) return false
    this.#open.push({ name, role, inside: 0 })
    return true
  }

  /** Counts an element that was opened inside and has no role. */
  opened(name: string): void {
    const around = this.#open.findLast((each) => each.name === name)
    if (around !== undefined) around.inside++
  }

  /** Ends the roles that end with an end tag of this name. Returns whether it did. */
  close(page: ElementPage, name: string): boolean {
    const at = this.#open.findLastIndex((each) => each.name === name)
    if (at < 0) return false
    const around = this.#open[at]!
    if (around.inside > 0) {
      around.inside--
      return false
    }
    for (const { role } of this.#open.splice(at).toReversed()) role.close?.(page, name)
    return true
  }
}
