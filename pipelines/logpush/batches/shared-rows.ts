import { RowCopier, Rows, type BatchText, type Format, type Output } from '../../records/index.js'
import type { CompiledJob } from '../settings/compiled-job.js'
import type { Frame } from '../spool/types.js'

/** Memory of all rows. Jobs that are further apart write their fields themselves. */
const MAX_BYTES = 6 * 2 ** 20
/** Maximum text of the rows of one frame, and maximum number of their cells. */
const FRAME_TEXT = 2 ** 20
const FRAME_CELLS = 2 ** 17
/** A group is judged after it has written this many fields. */
const JUDGED_FIELDS = 2 ** 19
/** Fields copied per field written, from which on sharing saves time. */
const WORTH = 1.5
/** A group that does not save time works alone for this many frames. */
const PAUSE_FRAMES = 4096

/** Jobs that format fields the same way and share most fields. */
interface Group {
  readonly members: Set<JobRows>
  /** Changes with the members. */
  version: number
  /** Names of the fields in the rows, which are the fields of all members. */
  names: readonly string[]
  format: Format | undefined
  /** Places of the fields, ascending. */
  places: Int16Array
  /** Whether fewer than two members share this entry. */
  alone: boolean
  written: number
  copied: number
  pause: number
}

/**
 * Formats each field of a record once for all jobs with the same style at nearby positions. Each job then copies the
 * runs of adjacent fields that it needs. No job waits for another, and the bytes of a batch do not depend on sharing.
 */
export class SharedRows {
  readonly #groups = new Map<string, Group[]>()
  /** The least recently used first. */
  readonly #rows = new Map<string, Rows>()
  #versions = 0
  readonly #judgedFields: number

  constructor({ judgedFields = JUDGED_FIELDS }: { readonly judgedFields?: number } = {}) {
    this.#judgedFields = judgedFields
  }

  /** Bytes of memory. */
  get size(): number {
    let bytes = 0
    for (const { size } of this.#rows.values()) bytes += size
    return bytes
  }

  /** `spool` names the records. Returns undefined if the fields of the job cannot be shared. */
  join(spool: string, job: CompiledJob): JobRows | undefined {
    const { style, format } = job
    if (style === undefined) return undefined
    const key = JSON.stringify([spool, style])
    const groups = this.#groups.get(key) ?? []
    this.#groups.set(key, groups)
    let group = groups.find((each) => isNear(each, format.names))
    if (group === undefined) {
      group = {
        members: new Set(),
        version: 0,
        names: [],
        format: undefined,
        places: new Int16Array(),
        alone: true,
        written: 0,
        copied: 0,
        pause: 0,
      }
      groups.push(group)
    }
    const { members } = group
    const joined: Group = group
    const rows = new JobRows(joined, job, {
      judgedFields: this.#judgedFields,
      rows: (frame) => this.#rowsOf(joined, frame),
      leave: () => {
        members.delete(rows)
        this.#settle(joined)
        if (members.size > 0) return
        groups.splice(groups.indexOf(joined), 1)
        if (groups.length === 0) this.#groups.delete(key)
      },
    })
    members.add(rows)
    this.#settle(group)
    return rows
  }

  /** Applies a change of members. */
  #settle(group: Group): void {
    const members = [...group.members]
    const [first] = members
    group.version = this.#versions++
    group.alone = new Set(members.map(({ job }) => job.recipe ?? job)).size < 2
    group.names = [...new Set(members.flatMap(({ job }) => job.format.names))]
    group.format = first?.job.format.rows(group.names)
    group.places = Int16Array.from(group.format?.places ?? []).sort()
    group.written = 0
    group.copied = 0
    group.pause = 0
    for (const member of members) member.copier = new RowCopier(member.job.format, group.names)
  }

  #rowsOf({ version, names }: Group, { first, count }: Frame): Rows | undefined {
    if (count * (names.length + 1) > FRAME_CELLS) return undefined
    const key = `${version} ${first} ${count}`
    const known = this.#rows.get(key)
    if (known !== undefined) this.#rows.delete(key)
    const rows = known ?? this.#free()
    if (known === undefined) rows.clear(count, names.length)
    this.#rows.set(key, rows)
    return rows
  }

  /** Returns memory for rows. Memory of the least recently used rows is reused if it is large enough. */
  #free(): Rows {
    let bytes = this.size
    let free: Rows | undefined
    for (const [key, rows] of this.#rows) {
      if (bytes <= MAX_BYTES) break
      this.#rows.delete(key)
      bytes -= rows.size
      if (rows.size <= 2 * FRAME_TEXT) free = rows
    }
    return free ?? new Rows()
  }
}

/** Returns whether at least half of the fields in the union of all members are fields of each member. */
function isNear({ names, members }: Group, more: readonly string[]): boolean {
  const all = new Set([...names, ...more]).size
  return [more, ...[...members].map(({ job }) => job.format.names)].every((own) => own.length * 2 >= all)
}

interface JobRowsOptions {
  readonly rows: (frame: Frame) => Rows | undefined
  readonly leave: () => void
  readonly judgedFields: number
}

/** Rows that one job copies. */
export class JobRows {
  readonly job: CompiledJob
  copier: RowCopier
  readonly leave: () => void
  readonly #group: Group
  readonly #rowsOf: (frame: Frame) => Rows | undefined
  readonly #judgedFields: number
  #rows: Rows | undefined

  constructor(group: Group, job: CompiledJob, { rows, leave, judgedFields }: JobRowsOptions) {
    this.#judgedFields = judgedFields
    this.#group = group
    this.job = job
    this.copier = new RowCopier(job.format, job.format.names)
    this.#rowsOf = rows
    this.leave = leave
  }

  /** Returns whether records of the frame are shared. They are valid until the next call for any job. */
  begin(frame: Frame): boolean {
    const group = this.#group
    if (group.alone) return false
    if (group.pause > 0) {
      group.pause--
      return false
    }
    this.#rows = this.#rowsOf(frame)
    return this.#rows !== undefined
  }

  /** Formats the row of a record of this frame. Returns false if there is no memory for it. */
  has(frame: Frame, index: number): boolean {
    const rows = this.#rows!
    if (rows.has(index)) return true
    if (rows.output.length > FRAME_TEXT) return false
    const group = this.#group
    rows.write(index, group.format!, frame.record(index, group.places))
    group.written += group.names.length
    if (group.written > this.#judgedFields) this.#judge()
    return true
  }

  /** Adds a record for which `has` returned true. */
  addTo(text: BatchText, index: number): void {
    this.#group.copied += this.job.format.names.length
    text.addRow(this.copier, this.#rows!, index)
  }

  /** Writes a record for which `has` returned true. */
  write(index: number, output: Output): void {
    this.#group.copied += this.job.format.names.length
    this.copier.write(this.#rows!, index, output)
  }

  #judge(): void {
    const group = this.#group
    if (group.copied < group.written * WORTH) group.pause = PAUSE_FRAMES
    group.written = 0
    group.copied = 0
  }
}
