import { SectionReader, SectionWriter } from './codec.js'
import {
  addRow,
  AGENTS_WITH_PATHS,
  DIMENSIONS,
  newRow,
  OTHER,
  PATHS_OF_AGENT,
  placeOf,
  REQUESTS,
  TOTAL,
  type Row,
} from './layout.js'
import { RowPool, Rows, valueOf } from './rows.js'

/** While periods are added, so many times the values are counted that a period keeps. */
const SPARE = 4
const AGENT_PATHS = placeOf('agent,path')

/** The counts of a zone or account in one period, the sum of several processes or shorter periods. */
export class Cell {
  readonly #total = newRow()
  readonly #pool = new RowPool()
  readonly #rows = new Map<number, Rows>()

  get isEmpty(): boolean {
    return this.#total[REQUESTS] === 0
  }

  /** Adds one section: the number of its dimension, and its rows. */
  add(place: number, bytes: Uint8Array): void {
    const reader = new SectionReader(bytes)
    while (!reader.isAtEnd) {
      const key = reader.key()
      if (place === TOTAL) reader.add(this.#total)
      else if (key === OTHER) reader.add(this.#of(place).other)
      else reader.add(this.#of(place).of(key, reader.requests))
    }
  }

  /** Counts this cell as one value of a dimension of another one. */
  addTo(cell: Cell, place: number, key: string): void {
    addRow(cell.#of(place).of(key, this.#total[REQUESTS]), this.#total)
  }

  /** Returns the sections with counts, by the number of their dimension. */
  *sections(): Generator<readonly [place: number, bytes: Buffer]> {
    const writer = new SectionWriter()
    writer.row(OTHER, this.#total)
    yield [TOTAL, writer.take()]
    for (const place of this.#rows.keys()) {
      const bytes = this.section(place)
      if (bytes) yield [place, bytes]
    }
  }

  /** Returns one section. Undefined if nothing was counted. */
  section(place: number): Buffer | undefined {
    const writer = new SectionWriter()
    if (place === TOTAL) writer.row(OTHER, this.#total)
    else {
      const rows = this.#rows.get(place)
      if (!rows) return undefined
      const top = rows.top(place === AGENT_PATHS ? Infinity : DIMENSIONS[place - 1]!.limit)
      for (const [key, row] of place === AGENT_PATHS ? withFewerPaths(top) : top) writer.row(key, row)
    }
    return writer.length === 0 ? undefined : writer.take()
  }

  #of(place: number): Rows {
    const known = this.#rows.get(place)
    if (known) return known
    const rows = new Rows(SPARE * (DIMENSIONS[place - 1]?.limit ?? 0), this.#pool)
    this.#rows.set(place, rows)
    return rows
  }
}

type Entry = readonly [key: string, row: Row]

/** Returns the most requested paths of the agents with the most requests, and the rest as `other`. */
function withFewerPaths(all: readonly Entry[]): Entry[] {
  const other = newRow()
  const byAgent = new Map<string, { requests: number; readonly paths: Entry[] }>()
  for (const [key, row] of all) {
    if (key === OTHER) {
      addRow(other, row)
      continue
    }
    const agent = valueOf(key)
    const known = byAgent.get(agent) ?? { requests: 0, paths: [] }
    known.requests += row[REQUESTS]!
    known.paths.push([key, row])
    byAgent.set(agent, known)
  }
  const kept: Entry[] = []
  const agents = [...byAgent.values()].sort((a, b) => b.requests - a.requests)
  for (const [index, { paths }] of agents.entries()) {
    const most = index < AGENTS_WITH_PATHS ? PATHS_OF_AGENT : 0
    const sorted = paths.toSorted(([, a], [, b]) => b[REQUESTS]! - a[REQUESTS]!)
    kept.push(...sorted.slice(0, most))
    for (const [, row] of sorted.slice(most)) addRow(other, row)
  }
  return other[REQUESTS]! > 0 ? [...kept, [OTHER, other]] : kept
}
