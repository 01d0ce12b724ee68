import type { CompiledJob } from './compiled-job.js'
import type { Frame } from './spool/types.js'

/** Results that are kept, each of one filter for one frame. */
const MAX_RESULTS = 128
/** The filter of a larger frame is evaluated record by record. */
const MAX_RECORDS = 16_384

interface Group {
  readonly id: number
  members: number
}

/** The filter of one job. */
export interface JobFilter {
  /** Returns 1 for each record of the frame that the job keeps and 0 for others, until the next call; undefined if there are too many. */
  kept(frame: Frame): Uint8Array | undefined
  leave(): void
}

/**
 * Evaluates filters for whole frames, which is faster than between the other work of a job, and once for all jobs with the
 * same filter that are near each other.
 */
export class SharedFilters {
  readonly #groups = new Map<string, Group>()
  /** The oldest first. */
  readonly #results = new Map<string, Uint8Array>()
  #made = 0

  /** `spool` names the records. Returns undefined if the lines of the job are not the records of frames. */
  join(spool: string, job: CompiledJob): JobFilter | undefined {
    if (job.view !== undefined || job.merge !== undefined) return undefined
    const { dataset, filter, filter_attack_traffic: attack } = job.settings
    const key = JSON.stringify([spool, dataset, filter ?? '', attack ?? false])
    const group = this.#groups.get(key) ?? { id: this.#made++, members: 0 }
    this.#groups.set(key, group)
    group.members++
    return {
      kept: (frame) => (frame.count > MAX_RECORDS ? undefined : this.#kept(group.id, job, frame)),
      leave: () => {
        if (--group.members === 0) this.#groups.delete(key)
      },
    }
  }

  #kept(id: number, { keeps, looks }: CompiledJob, frame: Frame): Uint8Array {
    const key = `${id} ${frame.first} ${frame.count}`
    const known = this.#results.get(key)
    if (known !== undefined) return known
    const kept = this.#free(frame.count)
    for (let index = 0; index < frame.count; index++) kept[index] = keeps(frame.record(index, looks)) ? 1 : 0
    this.#results.set(key, kept)
    return kept
  }

  /** Returns memory: that of the oldest result if it is enough. */
  #free(count: number): Uint8Array {
    if (this.#results.size < MAX_RESULTS) return new Uint8Array(count)
    for (const [key, oldest] of this.#results) {
      this.#results.delete(key)
      if (oldest.length >= count) return oldest
      break
    }
    return new Uint8Array(count)
  }
}
