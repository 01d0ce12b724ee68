/** Lines of several files, one file after the other. */
import { findByIdentity, type TrailFile } from './continued-files.js'
import { hasHead, headOf } from './file-head.js'
import { damageMessage, isDamage, mayBeWhole } from '../lines/damage.js'
import { openInput, type InputFile } from './input-file.js'
import type { FilePlace, Stretch } from './line-range.js'
import { LineBlocks, LineMemory, type LineBlock } from '../lines/line-blocks.js'

/** Lines of one stretch. */
export interface TrailBlock extends LineBlock {
  readonly file: number
  readonly stretch: Stretch
  /** Number of the first line, from 1. */
  readonly line: number
  /** Whether the line is the last one before damage and may be incomplete. */
  readonly torn?: boolean
}

/** Lines of files, in a stable order. Reading again from a position yields the same lines. */
export interface Trail<State = unknown> {
  /** State that a later run needs in order to read the same lines from positions that are not forgotten. */
  readonly state: State
  /** Returns the next lines. Undefined if there are none now. */
  next(): Promise<TrailBlock | undefined>
  /** Goes to a place, also back. */
  seek(place: FilePlace): Promise<void>
  /** Stretches before a number are not needed any more. */
  forget(before: number): Promise<void>
  /** Makes the current content the whole input. Writers of rotated files are not waited for. */
  finish(): void
  close(): Promise<void>
}

/** A file of the input was deleted or replaced. */
export class InputGone extends Error {
  override readonly name = 'InputGone'
}

export interface TrailOptions {
  readonly from: FilePlace
  /** Called with bytes on disk as they are read. */
  readonly progress: (bytes: number) => void
}

interface FileTrailOptions extends TrailOptions {
  /** The lines are not JSON. */
  readonly isText: boolean
  /** Called once with each file that is damaged, when its readable part has been returned. */
  readonly damaged: (path: string, message: string) => void
}

export class FileTrail implements Trail<readonly TrailFile[]> {
  readonly #progress: (bytes: number) => void
  readonly #damaged: FileTrailOptions['damaged']
  readonly #isText: boolean
  readonly #files: TrailFile[]
  /** Numbers of the files whose damage was reported. */
  readonly #reported = new Set<number>()
  readonly #memory = new LineMemory()
  #index = 0
  #input: InputFile | undefined
  #blocks: LineBlocks | undefined
  #from = 0
  #line = 1
  /** End of the last line that was returned. */
  #through = 0

  constructor(files: readonly TrailFile[], { from, isText, progress, damaged }: FileTrailOptions) {
    this.#isText = isText
    this.#files = [...files]
    this.#progress = progress
    this.#damaged = damaged
    this.#goTo(from)
  }

  get state(): readonly TrailFile[] {
    return this.#files
  }

  async next(): Promise<TrailBlock | undefined> {
    for (;;) {
      if (this.#index >= this.#files.length) return undefined
      this.#blocks ??= await this.#open()
      const block = await this.#read(this.#blocks)
      if (block !== undefined) return block
      this.#files[this.#index] = { ...this.#files[this.#index]!, end: { offset: this.#through, line: this.#line } }
      await this.#leave()
      const { begin } = this.#files[this.#index + 1] ?? {}
      this.#goTo({ file: this.#index + 1, offset: begin?.offset ?? 0, line: begin?.line ?? 1 })
    }
  }

  async #read(blocks: LineBlocks): Promise<TrailBlock | undefined> {
    try {
      const block = (await blocks.next()) ?? blocks.rest()
      return block && this.#numbered(block)
    } catch (error) {
      if (!isDamage(error)) throw error
      const rest = blocks.rest()
      const torn =
        rest !== undefined && !this.#isText && mayBeWhole(rest) ? { ...this.#numbered(rest), torn: true } : undefined
      this.#reportDamage(error)
      return torn
    }
  }

  #reportDamage(error: unknown): void {
    const number = this.#index
    if (this.#reported.has(number)) return
    this.#reported.add(number)
    this.#damaged(this.#files[number]!.path, damageMessage(error, this.#line - 1, this.#through))
  }

  finish(): void {}

  async seek(place: FilePlace): Promise<void> {
    if (place.file === this.#index) await this.#blocks?.close()
    else await this.#leave()
    this.#blocks = undefined
    this.#goTo(place)
  }

  async forget(): Promise<void> {}

  async close(): Promise<void> {
    await this.#leave()
  }

  #goTo({ file, offset, line }: FilePlace): void {
    this.#index = file
    this.#from = offset
    this.#line = line
    this.#through = offset
  }

  async #open(): Promise<LineBlocks> {
    const file = this.#files[this.#index]!
    this.#input ??= await this.#opened(file)
    const { identity, head } = this.#input
    this.#files[this.#index] = { ...file, identity, head: headOf(head) }
    return new LineBlocks(this.#input.bytes(this.#from, this.#progress), this.#memory)
  }

  async #opened({ path, identity, head, begin }: TrailFile): Promise<InputFile> {
    if (identity === undefined) return await openInput(path, this.#isText)
    const found = await findByIdentity(path, identity)
    if (found === undefined)
      throw new InputGone(`${path} is another file than the one that was being read, which does not exist any more`)
    const input = await openInput(found, this.#isText)
    const isSame = input.identity === identity && (head === undefined || hasHead(input.head, head))
    if (isSame) return input
    if (begin === undefined) {
      await input.close()
      throw new InputGone(`${path} has other content than the file that was being read`)
    }
    this.#goTo({ file: this.#index, offset: 0, line: 1 })
    return input
  }

  async #leave(): Promise<void> {
    await this.#blocks?.close()
    this.#blocks = undefined
    await this.#input?.close()
    this.#input = undefined
  }

  #numbered(block: LineBlock): TrailBlock {
    const stretch = this.#files[this.#index]!
    const numbered = {
      ...block,
      base: block.base + this.#from,
      end: block.end + this.#from,
      file: this.#index,
      stretch,
      line: this.#line,
    }
    this.#line += block.count
    this.#through = numbered.end
    return numbered
  }
}
