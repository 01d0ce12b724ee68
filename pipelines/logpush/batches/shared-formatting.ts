import { LRUCache } from 'lru-cache'
import { Output } from '../../records/index.js'
import type { CompiledJob } from '../settings/compiled-job.js'
import type { CompressedChunk } from './deflater.js'
import { FormattedBlocks } from './formatted-blocks.js'
import { formattedBlock, type FormattedBlock } from './formatted-block.js'
import type { JobRows } from './shared-rows.js'
import type { Frame } from '../spool/types.js'

/**
 * Maximum bytes of blocks and of compressed pieces for all jobs together. Jobs that are further apart do the work
 * separately.
 */
const PAGE_BYTES = 2 * 2 ** 20
const PIECE_BYTES = 2 * 2 ** 20
/** A piece counts for so much while it is compressed. */
const UNDER_WAY = 128 * 1024
/** Memory of an entry besides its bytes. */
const OVERHEAD = 512

/** Work that a job shares with jobs that write the same lines of the same spool. */
export interface Shared {
  /** No other job does now. */
  readonly alone: boolean
  /** Returns the lines of a frame. They are valid until the next call by any job. */
  page(frame: Frame, job: CompiledJob, rows?: JobRows): FormattedBlock
  /** Returns the compressed form of a text. `id` identifies the text. */
  deflated(id: string, deflate: () => Promise<CompressedChunk>): Promise<CompressedChunk>
  leave(): void
}

/**
 * Formatted lines and compressed pieces that jobs share. Several destinations often get the same records in the same
 * form. Such jobs format and compress them once if their positions are near each other. No job waits for another, and
 * shared bytes equal the bytes that a job would create alone.
 */
export class SharedFormatting {
  readonly #groups = new Map<string, Group>()
  readonly #pages = new FormattedBlocks(PAGE_BYTES)
  readonly #pieces = new LRUCache<string, Deflated>({
    maxSize: PIECE_BYTES,
    sizeCalculation: ({ size }) => OVERHEAD + size,
  })
  readonly #output = new Output()
  #made = 0

  /** Joins the jobs with the same records, named by `spool`, and the same output, named by `recipe`. */
  join(spool: string, recipe: string): Shared {
    const key = JSON.stringify([spool, recipe])
    let group = this.#groups.get(key)
    if (group === undefined) {
      group = { id: this.#made++, members: 0 }
      this.#groups.set(key, group)
    }
    group.members++
    const { id } = group
    return {
      get alone() {
        return group.members < 2
      },
      page: (frame, job, rows) => this.#page(`${id} ${frame.first}`, frame, job, rows),
      deflated: async (at, deflate) => await this.#deflated(`${id} ${at}`, deflate),
      leave: () => {
        if (--group.members === 0) this.#groups.delete(key)
      },
    }
  }

  #page(key: string, frame: Frame, job: CompiledJob, rows: JobRows | undefined): FormattedBlock {
    const known = this.#pages.get(key)
    return known ?? this.#pages.put(key, formattedBlock(frame, job, this.#output, rows))
  }

  async #deflated(key: string, deflate: () => Promise<CompressedChunk>): Promise<CompressedChunk> {
    const known = this.#pieces.get(key)
    if (known !== undefined) return await known.piece
    const piece = deflate()
    this.#pieces.set(key, { piece, size: UNDER_WAY })
    try {
      const { byteLength } = (await piece).bytes.buffer
      if (this.#pieces.has(key)) this.#pieces.set(key, { piece, size: byteLength })
    } catch (error) {
      this.#pieces.delete(key)
      throw error
    }
    return await piece
  }
}

interface Group {
  readonly id: number
  members: number
}

interface Deflated {
  readonly piece: Promise<CompressedChunk>
  readonly size: number
}
