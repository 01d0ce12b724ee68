/**
 * Lines of several files, one file after the other; of a file that is followed also what is added later, and the files
 * that take its place when it is rotated.
 */
import { readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { openInput, type InputFile } from './input-file.js'
import { LineBlocks, LineMemory, type LineBlock } from './line-blocks.js'

/** In front of a line. */
export interface FilePlace {
  /** Index in the trail. */
  readonly file: number
  /** Bytes of NDJSON in front of it. */
  readonly offset: number
  /** Number of the line, from 1. */
  readonly line: number
}

/** Lines of one file. */
export interface TrailBlock extends LineBlock {
  readonly file: number
  readonly path: string
  /** Number of the first line, from 1. */
  readonly line: number
}

/** A file of the trail: where it was found, and which it is. */
export interface TrailFile {
  readonly path: string
  /** Device and inode; undefined before it was opened. */
  readonly identity?: string | undefined
}

/** A file of the input is not there any more, or is another one. */
export class InputGone extends Error {
  override readonly name = 'InputGone'
}

export interface TrailOptions {
  /** Go on with the last file when it has ended. */
  readonly follow: boolean
  readonly from: FilePlace
  /** Told once of a file to follow that is not there: it is waited for. */
  readonly missing: (path: string) => void
  /** Told of bytes on disk as they are read. */
  readonly progress: (bytes: number) => void
}

/** After a rotation a file is looked at so many times more. */
const QUIET_LOOKS = 4

export class FileTrail {
  readonly #follow: boolean
  readonly #progress: (bytes: number) => void
  readonly #missing: (path: string) => void
  readonly #files: TrailFile[]
  readonly #memory = new LineMemory()
  #index = 0
  #input: InputFile | undefined
  #blocks: LineBlocks | undefined
  #from = 0
  #line = 1
  /** Where the last line began that was given. */
  #through = 0
  #ending = false
  #toldMissing = false
  /** So often nothing was found since another file got the name. */
  #quiet = 0
  /** Followed files that were rotated away, by index: they are read from again only by what is open. */
  readonly #kept = new Map<number, InputFile>()

  constructor(files: readonly TrailFile[], { follow, from, missing, progress }: TrailOptions) {
    this.#files = [...files]
    this.#missing = missing
    this.#progress = progress
    this.#follow = follow
    this.#goTo(from)
  }

  get files(): readonly TrailFile[] {
    return this.#files
  }

  /** The next lines; undefined when there are none now, which for a trail that is not followed is the end. */
  async next(): Promise<TrailBlock | undefined> {
    for (;;) {
      if (this.#index >= this.#files.length) return undefined
      this.#blocks ??= await this.#open()
      if (this.#blocks === undefined) return undefined
      const whole = await this.#blocks.next()
      if (whole !== undefined) this.#quiet = 0
      else if (this.#follow && !(await this.#over())) return undefined
      const block = whole ?? this.#blocks.rest()
      if (block !== undefined) return this.#numbered(block)
      await this.#leave()
      if (this.#follow) this.#files.push({ path: this.#files[this.#index]!.path })
      this.#goTo({ file: this.#index + 1, offset: 0, line: 1 })
    }
  }

  /** What is there by now is all: writers of files that were rotated away are not waited for. */
  finish(): void {
    this.#ending = true
  }

  /** Goes to a place, also back. */
  async seek(place: FilePlace): Promise<void> {
    if (place.file === this.#index) await this.#blocks?.close()
    else await this.#leave()
    this.#blocks = undefined
    this.#goTo(place)
  }

  /** Files before an index are not asked for again. */
  async forget(before: number): Promise<void> {
    for (const [index, input] of this.#kept) {
      if (index >= before) continue
      this.#kept.delete(index)
      await input.close()
    }
  }

  async close(): Promise<void> {
    await this.#blocks?.close()
    await this.#input?.close()
    await this.forget(Infinity)
  }

  #goTo({ file, offset, line }: FilePlace): void {
    this.#index = file
    this.#from = offset
    this.#line = line
    this.#through = offset
    this.#quiet = 0
  }

  /** Undefined while a file to follow is not there. */
  async #open(): Promise<LineBlocks | undefined> {
    const index = this.#index
    const { path, identity } = this.#files[index]!
    this.#input ??= this.#kept.get(index) ?? (await this.#opened(path, identity))
    if (this.#input === undefined) return undefined
    this.#kept.delete(index)
    if (this.#follow && !this.#input.plain)
      throw new InputGone(`${path} cannot be followed: it is no plain file of lines`)
    // Under its first name, also where it was found under another: that is where the file behind it comes.
    this.#files[index] = { path, identity: this.#input.identity }
    return new LineBlocks(this.#input.bytes(this.#from, this.#progress), this.#memory)
  }

  async #opened(path: string, identity: string | undefined): Promise<InputFile | undefined> {
    try {
      return await opened(path, identity)
    } catch (error) {
      const waits = this.#follow && identity === undefined && (error as NodeJS.ErrnoException).code === 'ENOENT'
      if (!waits) throw error
      if (!this.#toldMissing) this.#missing(path)
      this.#toldMissing = true
      return undefined
    }
  }

  async #leave(): Promise<void> {
    await this.#blocks?.close()
    this.#blocks = undefined
    if (this.#input !== undefined && this.#follow) this.#kept.set(this.#index, this.#input)
    else await this.#input?.close()
    this.#input = undefined
  }

  /**
   * Whether nothing more is to come in the followed file: another one has its name, or it has become shorter than what
   * was read of it. Writers go on for a moment in a file that was renamed.
   */
  async #over(): Promise<boolean> {
    if (this.#index < this.#files.length - 1) return true
    const { path, identity } = this.#files[this.#index]!
    const found = await stat(path).catch(() => undefined)
    if (found === undefined) return false
    if (identityOf(found) === identity) return found.size < this.#through
    return this.#ending || ++this.#quiet > QUIET_LOOKS
  }

  #numbered(block: LineBlock): TrailBlock {
    const numbered = {
      ...block,
      base: block.base + this.#from,
      file: this.#index,
      path: this.#input!.path,
      line: this.#line,
    }
    this.#line += block.count
    this.#through = numbered.base + block.starts[block.count - 1]!
    return numbered
  }
}

/** Opens a file; one that is known by its identity also under another name in the same folder, as rotation leaves it. */
async function opened(path: string, identity: string | undefined): Promise<InputFile> {
  if (identity === undefined) return await openInput(path)
  const here = await stat(path).catch(() => undefined)
  if (here !== undefined && identityOf(here) === identity) return await openInput(path)
  const folder = dirname(path)
  for (const name of await readdir(folder)) {
    const found = await stat(join(folder, name)).catch(() => undefined)
    if (found?.isFile() && identityOf(found) === identity) return await openInput(join(folder, name))
  }
  throw new InputGone(`${path} is another file than the one that was being read, which is not there any more`)
}

const identityOf = ({ dev, ino }: { dev: number; ino: number }): string => `${dev}:${ino}`
