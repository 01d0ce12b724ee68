/**
 * Lines of followed files. Files are read alternately. A stretch is the part of one file that was read in one turn. The
 * list of stretches stores the order of lines, so a batch can be created again byte for byte.
 */
import type { Clock } from '../../../src/core/clock.js'
import { KeyedMutex } from '../../../src/core/keyed-mutex.js'
import { messageOf } from '../../../src/core/errors.js'
import type { Position } from '../../logpush/spool/types.js'
import { fileBytes, type ByteSource } from '../lines/byte-source.js'
import { FollowedFiles, type FollowedState, type FollowOptions } from './followed-files.js'
import type { Trail, TrailBlock, TrailOptions } from './file-trail.js'
import type { FilePlace, Stretch } from './line-range.js'
import type { Generation } from './generation.js'
import { LineBlocks, LineMemory } from '../lines/line-blocks.js'

/** Files are looked at this often, whether or not anything is read. */
const LOOK_MS = 200
/** Bytes of one file after which other files have their turn. */
const TURN_BYTES = 8 << 20
/** A rotated file is left after it has not grown for this time, because its writer may not know of the rotation yet. */
const ROTATED_MS = 30_000

/** Lines read from one file in one turn. */
interface Section extends Stretch {
  readonly generation: Generation
  readonly from: number
  readonly line: number
  readonly midLine: boolean
  /** Undefined for the one that is being read. */
  to?: number | undefined
  position?: Position | undefined
}

export interface FollowState extends FollowedState {
  /** Number of the first section. */
  readonly first: number
  readonly sections: readonly {
    readonly generation: number
    readonly from: number
    readonly line: number
    readonly midLine: boolean
    readonly to: number
    readonly position?: Position | undefined
  }[]
}

export class FollowTrail implements Trail<FollowState> {
  readonly #files: FollowedFiles
  readonly #clock: Clock
  readonly #progress: (bytes: number) => void
  readonly #memory = new LineMemory()
  readonly #turns = new KeyedMutex()
  readonly #closing = new AbortController()
  readonly #watching: Promise<void>
  #sections: Section[]
  /** Number of `#sections[0]`. */
  #first: number
  #index: number
  /** Where the section is read from. */
  #at: { offset: number; line: number; midLine: boolean }
  #blocks: LineBlocks | undefined
  /** Handle that the blocks read, and the bytes of its file before the blocks. */
  #handle: Generation['handle']
  #from = 0
  #lookedAt: number
  #finishing = false
  #failure: Error | undefined

  private constructor(files: FollowedFiles, options: TrailOptions & FollowOptions, stored: FollowState | undefined) {
    const { from, progress, clock } = options
    this.#files = files
    this.#clock = clock
    this.#progress = progress
    this.#first = stored?.first ?? 0
    this.#sections = (stored?.sections ?? []).map(({ generation, ...rest }) => {
      const found = files.restored[generation]!
      return { ...rest, generation: found, path: found.path }
    })
    this.#index = from.file
    this.#at = { ...from, midLine: false }
    this.#lookedAt = clock.monotonic()
    this.#watching = this.#watch()
  }

  static async open(options: TrailOptions & FollowOptions, stored?: FollowState): Promise<FollowTrail> {
    const files = await FollowedFiles.open(options, stored)
    return new FollowTrail(files, options, stored)
  }

  get state(): FollowState {
    const { generations } = this.#files
    return {
      ...this.#files.state,
      first: this.#first,
      sections: this.#sections.map(({ generation, from, line, midLine, to, position }) => ({
        generation: generations.indexOf(generation),
        from,
        line,
        midLine,
        to: to ?? generation.offset,
        position,
      })),
    }
  }

  async next(): Promise<TrailBlock | undefined> {
    return await this.#turns.run('', async () => {
      if (this.#failure !== undefined) throw this.#failure
      for (;;) {
        const section = this.#sections[this.#index - this.#first]
        if (section === undefined) {
          if (!(await this.#begin())) return undefined
          continue
        }
        const block = await this.#read(section)
        if (block !== undefined) return block
        if (section.to === undefined && !(await this.#isOver(section))) return undefined
        await this.#leave()
        if (section.to === section.from && section === this.#sections.at(-1)) this.#sections.pop()
        else this.#index++
        this.#goTo(this.#index)
      }
    })
  }

  finish(): void {
    this.#finishing = true
  }

  async seek({ file, offset, line }: FilePlace): Promise<void> {
    await this.#turns.run('', async () => {
      await this.#leave()
      this.#goTo(file)
      const section = this.#sections[file - this.#first]
      if (section !== undefined && offset !== section.from) this.#at = { offset, line, midLine: false }
    })
  }

  async forget(before: number): Promise<void> {
    await this.#turns.run('', async () => {
      const count = Math.max(0, Math.min(before - this.#first, this.#index - this.#first))
      this.#sections.splice(0, count)
      this.#first += count
      await this.#files.forget(new Set(this.#sections.map(({ generation }) => generation)))
    })
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#watching
    await this.#leave()
    await this.#files.close()
  }

  async #watch(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      try {
        await this.#clock.sleep(LOOK_MS, signal)
      } catch {
        return
      }
      await this.#turns.run('', async () => await this.#look())
    }
  }

  async #look(options?: { all: boolean }): Promise<void> {
    this.#lookedAt = this.#clock.monotonic()
    try {
      await this.#files.look(options)
    } catch (error) {
      // The next reader gets it.
      this.#failure ??= error instanceof Error ? error : new Error(messageOf(error))
    }
  }

  #goTo(index: number): void {
    this.#index = index
    const section = this.#sections[index - this.#first]
    if (section !== undefined) this.#at = { offset: section.from, line: section.line, midLine: section.midLine }
  }

  async #leave(): Promise<void> {
    const blocks = this.#blocks
    this.#blocks = undefined
    await blocks?.close()
  }

  /** Begins a section with a file that has more lines. Returns false if none has. */
  async #begin(): Promise<boolean> {
    let next = await this.#pick()
    if (next === undefined && (this.#finishing || this.#clock.monotonic() - this.#lookedAt >= LOOK_MS)) {
      await this.#look({ all: this.#finishing })
      if (this.#failure !== undefined) throw this.#failure
      next = await this.#pick()
    }
    if (next === undefined) return false
    const { path, offset, line, midLine } = next
    this.#sections.push({ path, generation: next, from: offset, line, midLine })
    this.#goTo(this.#index)
    return true
  }

  /** Returns the next file, in rotation, that may have unread lines. */
  async #pick(after?: Generation): Promise<Generation | undefined> {
    const { generations } = this.#files
    const last = after ?? this.#sections.at(-1)?.generation
    const begin = last === undefined ? 0 : generations.indexOf(last) + 1
    for (let at = 0; at < generations.length; at++) {
      const generation = generations[(begin + at) % generations.length]!
      if (generation === after || !(await this.#hasMore(generation))) continue
      const earlier = await this.#earlier(generation)
      if (earlier === undefined) return generation
      if (earlier !== after) return earlier
    }
    return undefined
  }

  /**
   * Returns an earlier content of the same name with more lines. Its lines come before the lines of the later content.
   */
  async #earlier(generation: Generation): Promise<Generation | undefined> {
    for (const one of this.#files.generations) {
      if (one === generation) return undefined
      if (one.path === generation.path && (await this.#hasMore(one))) return one
    }
    return undefined
  }

  async #hasMore(generation: Generation): Promise<boolean> {
    if (generation.done || !(await this.#files.ensure(generation))) return false
    const { size } = await generation.handle!.stat()
    if (size < generation.offset) {
      await this.#files.truncated(generation)
      return !generation.done && generation.handle !== undefined
    }
    if (size > generation.offset && size !== generation.emptyAt) return true
    if (!this.#isLeft(generation)) return false
    if (size > generation.offset) return true
    generation.done = true
    return false
  }

  /** Returns whether a file without a further whole line is finished. */
  #isLeft({ rotatedAt, grewAt }: Generation): boolean {
    if (rotatedAt === undefined) return false
    const now = this.#clock.monotonic()
    return this.#finishing || now - Math.max(rotatedAt, grewAt) > ROTATED_MS
  }

  /** Ends the section that is being read if its file has no more lines and another one has, or if it is done. */
  async #isOver(section: Section): Promise<boolean> {
    const { generation } = section
    if (this.#blocks !== undefined) generation.emptyAt = this.#from + this.#blocks.bytesRead
    if (!generation.done && (await this.#pick(generation)) === undefined) {
      if (!this.#finishing && this.#clock.monotonic() - this.#lookedAt < LOOK_MS) return false
      await this.#look({ all: this.#finishing })
      if (this.#failure !== undefined) throw this.#failure
      if (!generation.done && (await this.#pick(generation)) === undefined) return false
    }
    section.to = generation.offset
    return true
  }

  /** Returns the next lines of a section. Undefined if it has no more now. */
  async #read(section: Section): Promise<TrailBlock | undefined> {
    const { generation, to } = section
    const live = to === undefined
    for (;;) {
      if (generation.handle === undefined || generation.handle !== this.#handle) await this.#leave()
      if (this.#blocks === undefined && !(await this.#open(section))) return undefined
      let block = await this.#blocks!.next()
      if (live && (await generation.changed(this.#clock.monotonic()))) {
        await this.#leave()
        await this.#files.truncated(generation)
        if (generation.done) return undefined
        continue
      }
      if (block === undefined && !live) block = this.#blocks!.rest()
      if (block === undefined && live && this.#isLeft(generation)) {
        block = this.#blocks!.rest()
        generation.done = block === undefined
      }
      if (block === undefined) return undefined
      const { offset, line } = this.#at
      const numbered = {
        ...block,
        base: block.base + this.#from,
        end: block.end + this.#from,
        file: this.#index,
        stretch: section,
        line,
      }
      this.#at = { offset: numbered.end, line: line + block.count, midLine: block.midLine }
      if (live) {
        this.#progress(numbered.end - offset)
        generation.offset = numbered.end
        generation.line = this.#at.line
        generation.midLine = block.midLine
        if (numbered.end - section.from > TURN_BYTES && (await this.#pick(generation)) !== undefined) {
          section.to = generation.offset
          await this.#leave()
          this.#goTo(this.#index + 1)
        }
      }
      return numbered
    }
  }

  async #open({ generation, to }: Section): Promise<boolean> {
    if (!(await this.#files.ensure(generation))) return false
    const { offset, line, midLine } = this.#at
    if (to === undefined) {
      generation.offset = offset
      generation.line = line
      generation.midLine = midLine
    } else if (await generation.changed(this.#clock.monotonic())) {
      await this.#files.truncated(generation)
      if (!(await this.#files.ensure(generation))) return false
    }
    const bytes = fileBytes(generation.handle!, offset)
    this.#handle = generation.handle
    this.#from = offset
    this.#blocks = new LineBlocks(to === undefined ? bytes : upTo(bytes, to - offset), this.#memory, midLine)
    return true
  }
}

/** The first bytes of a source. */
function upTo(source: ByteSource, count: number): ByteSource {
  let rest = count
  return {
    async read(buffer, at) {
      if (rest <= 0) return 0
      const read = await source.read(buffer.subarray(0, Math.min(buffer.length, at + rest)), at)
      rest -= read
      return read
    },
    close: async () => await source.close(),
  }
}
