import { KNOWN_NAMES } from '../names.js'
import { Writer, type Frame, type Leaf } from '../writer.js'
import { MainContent, isLong, type Block } from './choose.js'
import { addUpTo, Container } from './container.js'
import { measure } from './measure.js'

/** Maximum Markdown of a page that is buffered before its content is chosen, in characters. */
export const MAX_BUFFERED = 64 * 1024

interface Buffered extends Block {
  contents: string
  /** Open frames around the block. */
  readonly frames: Frame[]
  readonly isFinal: boolean
}

/** Buffers blocks and writes those that are the main content of the page. */
export class MainWriter extends Writer {
  /** The container of the next blocks. */
  place = new Container('', KNOWN_NAMES, undefined, 0, 0)
  readonly #content = new MainContent()
  #blocks: Buffered[] = []
  #buffered = 0
  /** The open frames around the block that was buffered last. */
  #around: Frame[] = []
  /** Nothing is buffered any more: the page has ended. */
  #isDirect = false
  /** Whether the last block was written, for lines that are added to it. */
  #wroteLast = true

  override get length(): number {
    return super.length + this.#buffered
  }

  override leaf(kind: Leaf, contents: string, isFinal = false): void {
    if (this.#isDirect) return super.leaf(kind, contents, isFinal)
    // An item without contents is not content.
    if (kind === 'empty') return
    if (this.frames.length > 1) this.leaveList()
    const level = kind === 'heading' ? contents.search(/[^#]/) : 0
    const { text, links, words } = measure(contents)
    const { place } = this
    const block: Buffered = {
      kind,
      contents,
      isFinal,
      frames: this.#framesAround(),
      place,
      level: level < 0 ? contents.length : level,
      title: kind === 'heading' ? titleOf(contents) : '',
      text,
      links,
      words,
    }
    place.add(text, links, isLong(block) ? text : 0)
    this.#blocks.push(block)
    this.#buffered += contents.length
    if (this.#buffered > MAX_BUFFERED) this.#decide()
  }

  /** Returns the open frames, which later blocks share: a frame that ends is not opened again. */
  #framesAround(): Frame[] {
    const { frames } = this
    const { length } = frames
    if (this.#around.length !== length || this.#around[length - 1] !== frames[length - 1]) {
      this.#around = frames.slice()
      for (const frame of frames) frame.pending = true
    }
    return this.#around
  }

  override more(line: string): void {
    const last = this.#blocks.at(-1)
    if (last !== undefined) {
      last.contents += `\n${line}`
      this.#buffered += line.length
      if (this.#buffered > MAX_BUFFERED) this.#decide()
    } else if (this.#wroteLast) super.more(line)
  }

  override end(): void {
    super.end()
    this.#decide()
    this.#isDirect = true
  }

  #decide(): void {
    const blocks = this.#blocks
    this.#blocks = []
    this.#buffered = 0
    addUpTo(undefined, this.place)
    const kept = this.#content.choose(blocks)
    const { frames } = this
    for (const [at, { kind, contents, frames: around, isFinal }] of blocks.entries()) {
      this.#wroteLast = kept[at] === true
      if (!this.#wroteLast) continue
      this.frames = around
      super.leaf(kind, contents, isFinal)
    }
    this.frames = frames
  }
}

/** Returns the text of a heading without its marks. */
const titleOf = (heading: string): string =>
  heading
    .slice(0, 200)
    .replace(/^#+ */, '')
    .replace(/[[\]*_\\]/g, '')
