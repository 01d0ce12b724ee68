import { Writer, type Frame, type Leaf } from '../writer.js'
import { MainContent, isLong, type Block } from './choose.js'
import { addBlock, addUpTo, ROOT, type Container } from './container.js'
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
  place: Container = { ...ROOT }
  readonly #content = new MainContent()
  #blocks: Buffered[] = []
  #buffered = 0
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
    const block: Buffered = {
      kind,
      contents,
      isFinal,
      frames: this.frames.slice(),
      place: this.place,
      level: level < 0 ? contents.length : level,
      title: kind === 'heading' ? titleOf(contents) : '',
      ...measure(contents),
    }
    for (const frame of this.frames) frame.pending = true
    addBlock(this.place, block, isLong(block) ? block.text : 0)
    this.#blocks.push(block)
    this.#buffered += contents.length
    if (this.#buffered > MAX_BUFFERED) this.#decide()
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
