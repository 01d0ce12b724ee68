import type { CompiledJob } from '../settings/compiled-job.js'
import type { Frame } from '../spool/types.js'

/** Results that are kept, each of one filter for one frame. */
const MAX_RESULTS = 128
/** Maximum filters that are evaluated together. The results of several frames are stored. */
const MAX_TOGETHER = 16
/** The filter of a larger frame is evaluated record by record. */
const MAX_RECORDS = 16_384
/** Filters that were last asked about records within this distance are evaluated together. */
const NEAR_RECORDS = 4096

/** Jobs with the same filter. */
interface Group {
  readonly id: number
  readonly keeps: CompiledJob['keeps']
  readonly looks: Int16Array
  members: number
  /** Position of the frame that a member asked about last. */
  at: number
}

/** The groups of one dataset of one spool. */
interface Family {
  readonly groups: Map<string, Group>
  /** Indexes of the fields that the filters of all groups read, ascending. */
  looks: Int16Array
}

/** The filter of one job. */
export interface JobFilter {
  /**
   * Returns 1 for each record of the frame that the job keeps and 0 for others. The result is valid until the next
   * call. Undefined if there are too many records.
   */
  kept(frame: Frame): Uint8Array | undefined
  leave(): void
}

/**
 * Evaluates filters for whole frames, which is faster than between the other work of a job. Equal filters are evaluated
 * once. Filters of jobs at nearby positions are evaluated together, so each record is read once for all jobs.
 */
export class SharedFilters {
  readonly #families = new Map<string, Family>()
  /** The oldest first. */
  readonly #results = new Map<string, Uint8Array>()
  #made = 0

  /** `spool` names the records. Returns undefined if the lines of the job are not the records of frames. */
  join(spool: string, job: CompiledJob): JobFilter | undefined {
    if (job.view !== undefined || job.merge !== undefined) return undefined
    const { dataset, filter, filter_attack_traffic: attack } = job.settings
    const familyKey = JSON.stringify([spool, dataset])
    const family = this.#families.get(familyKey) ?? { groups: new Map<string, Group>(), looks: new Int16Array() }
    this.#families.set(familyKey, family)
    const { keeps, looks } = job
    const key = JSON.stringify([filter ?? '', attack ?? false])
    const group = family.groups.get(key) ?? { id: this.#made++, keeps, looks, members: 0, at: -Infinity }
    family.groups.set(key, group)
    group.members++
    settle(family)
    return {
      kept: (frame) => (frame.count > MAX_RECORDS ? undefined : this.#kept(family, group, frame)),
      leave: () => {
        if (--group.members > 0) return
        family.groups.delete(key)
        settle(family)
        if (family.groups.size === 0) this.#families.delete(familyKey)
      },
    }
  }

  #kept(family: Family, group: Group, frame: Frame): Uint8Array {
    const { first, count } = frame
    group.at = first
    const known = this.#results.get(keyOf(group, frame))
    if (known !== undefined) return known
    const near: Group[] = [group]
    for (const other of family.groups.values()) {
      if (near.length === MAX_TOGETHER) break
      const isNear = other !== group && Math.abs(other.at - first) <= NEAR_RECORDS
      if (isNear && !this.#results.has(keyOf(other, frame))) near.push(other)
    }
    const kept = near.map(() => this.#free(count))
    for (let index = 0; index < count; index++) {
      const record = frame.record(index, family.looks)
      for (let i = 0; i < near.length; i++) kept[i]![index] = near[i]!.keeps(record) ? 1 : 0
    }
    for (const [i, result] of kept.entries()) this.#results.set(keyOf(near[i]!, frame), result)
    return kept[0]!
  }

  /** Returns memory for a result. The memory of the oldest result is reused if it is large enough. */
  #free(count: number): Uint8Array {
    if (this.#results.size <= MAX_RESULTS - MAX_TOGETHER) return new Uint8Array(count)
    for (const [key, oldest] of this.#results) {
      this.#results.delete(key)
      if (oldest.length >= count) return oldest
      break
    }
    return new Uint8Array(count)
  }
}

const keyOf = ({ id }: Group, { first, count }: Frame): string => `${id} ${first} ${count}`

/** Applies a change of groups. */
function settle(family: Family): void {
  const looks = [...family.groups.values()].flatMap((group) => [...group.looks])
  family.looks = Int16Array.from(new Set(looks)).sort()
}
