import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { RecordPlace, RequestRecord } from '../../../core/model/requests/request-record.js'
import { EventLoopYield } from '../../../core/schedule/event-loop-yield.js'
import type { Filter } from '../../../expr/index.js'
import type { FieldDeps } from '../../../rules/fields/source.js'
import type { Zone, Zones } from '../../exchange/zones.js'
import { hasRay, rayNumber } from './closing.js'
import { newestFirst, type Range } from './newest.js'
import { matchesRecord } from './replayed.js'
import { isSampled, lineOfRay, linesOf, raysPath, readSegment, segmentsIn, type Segment } from './segments.js'

/** Records that one call examines. */
const MAX_EXAMINED = 20_000
/** Calls that read segments at once. Each has some megabytes of records in memory. */
const MAX_READERS = 2

/** The records of a page, and where the next page begins. */
export interface RequestPage {
  readonly records: readonly RequestRecord[]
  readonly examined: number
  /** Undefined after the last record of the range. */
  readonly next: RecordPlace | undefined
}

/** What a zone keeps. */
export interface KeptRange {
  /** Time of the oldest record, in milliseconds since 1970. Undefined without records. */
  readonly from: number | undefined
  /** Some records stand for several requests. */
  readonly isSampled: boolean
}

export interface StoredRequestsDeps {
  /** Has a folder for each zone. */
  readonly folder: string
  readonly zones: Zones
  readonly fields: FieldDeps
}

/** Reads the request log of this machine. */
export class StoredRequests {
  readonly #deps: StoredRequestsDeps
  readonly #slices = new EventLoopYield()
  #readers = 0
  readonly #waiting: (() => void)[] = []

  constructor(deps: StoredRequestsDeps) {
    this.#deps = deps
  }

  /** Folder of the records of a zone. */
  folderOf(zone: string): string {
    return join(this.#deps.folder, zone)
  }

  /** Returns the newest records of a range that a filter matches; fewer than `limit` if many do not match. */
  async page(
    zone: string,
    range: Range,
    { limit, filter }: { limit: number; filter?: Filter | undefined },
  ): Promise<RequestPage> {
    const records: RequestRecord[] = []
    let examined = 0
    let last: RecordPlace | undefined
    const isOver = await this.each(zone, range, filter, (record, matches) => {
      if (examined >= MAX_EXAMINED || records.length >= limit) return false
      examined++
      last = { at: record.at, ray: record.ray }
      if (matches) records.push(record)
      return true
    })
    return { records, examined, next: isOver ? undefined : last }
  }

  /**
   * Calls `take` with the records of a range, newest first, until it returns false. Resolves with whether all were
   * taken.
   */
  async each(
    zone: string,
    range: Range,
    filter: Filter | undefined,
    take: (record: RequestRecord, matches: boolean) => boolean,
  ): Promise<boolean> {
    const served = filter && this.#zone(zone)
    await this.#enter()
    try {
      for await (const { bytes } of newestFirst(this.folderOf(zone), range)) {
        await this.#slices.yieldToEventLoop()
        const record = recordIn(bytes)
        if (!record) continue
        const matches = !filter || (served !== undefined && matchesRecord(filter, record, served, this.#deps.fields))
        if (!take(record, matches)) return false
      }
      return true
    } finally {
      this.#left()
    }
  }

  /** Returns the record of a ray id. */
  async find(zone: string, ray: string): Promise<RequestRecord | undefined> {
    const number = rayNumber(ray)
    await this.#enter()
    try {
      for (const segment of (await segmentsIn(this.folderOf(zone))).toReversed()) {
        if (!(await mayHave(segment, number))) continue
        const bytes = await readSegment(segment)
        const line = bytes && lineOfRay(bytes, ray)
        if (line) return recordIn(bytes.subarray(line.from, line.to))
      }
      return undefined
    } finally {
      this.#left()
    }
  }

  /** Returns what of a zone is kept. */
  async kept(zone: string): Promise<KeptRange> {
    let from = Infinity
    let sampled = false
    for (const segment of await segmentsIn(this.folderOf(zone))) {
      if (segment.closed) {
        from = Math.min(from, segment.closed.from)
        sampled ||= segment.closed.isSampled
        continue
      }
      const bytes = (await readSegment(segment)) ?? Buffer.alloc(0)
      const [first] = linesOf(bytes)
      from = Math.min(from, first?.at ?? Infinity)
      sampled ||= isSampled(bytes)
    }
    return { from: from === Infinity ? undefined : from, isSampled: sampled }
  }

  /** Whether a filter matches a record of a zone. */
  matches(zone: string, filter: Filter, record: RequestRecord): boolean {
    const served = this.#zone(zone)
    return served !== undefined && matchesRecord(filter, record, served, this.#deps.fields)
  }

  #zone(id: string): Zone | undefined {
    return this.#deps.zones.current.zones.find((zone) => zone.id === id)
  }

  async #enter(): Promise<void> {
    if (this.#readers >= MAX_READERS) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#readers++
  }

  #left(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#readers--
  }
}

/** A segment that is being closed may lose its list. Then its records are searched. */
async function mayHave({ closed, path }: Segment, ray: bigint): Promise<boolean> {
  if (!closed) return true
  const rays = await readFile(raysPath(path)).catch(() => undefined)
  return rays === undefined || hasRay(rays, ray)
}

/** Returns the record of a line. Undefined if it is damaged. */
export function recordIn(line: Buffer): RequestRecord | undefined {
  try {
    return JSON.parse(line.toString()) as RequestRecord
  } catch {
    return undefined
  }
}
