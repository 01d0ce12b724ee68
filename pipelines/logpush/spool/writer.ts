import type { LogRecord } from '../../../src/core/emit.js'
import { MalformedRecord, type ScannedRecord, type RecordScanner } from '../../records/index.js'
import type { FrameParts, FrameWriter } from './types.js'
import type { Buffers } from './buffers.js'
import { FramePacker, RECORD_BYTES } from './layout.js'

/** Resolves after the frames are durable. Rejects if no frame is stored. */
type Append = (frames: readonly FrameParts[], bytes: number) => Promise<void>

/** Scans and packs records in memory until they are committed. */
export class PackedWriter implements FrameWriter {
  readonly #scanner: RecordScanner
  readonly #packer: FramePacker
  readonly #append: Append
  readonly #fits: ((record: ScannedRecord) => void) | undefined
  readonly #maxRecord: () => number
  #committing = false

  /** `maxRecord` is the maximum number of bytes of a record. */
  constructor(
    scanner: RecordScanner,
    names: readonly string[],
    buffers: Buffers,
    append: Append,
    fits?: (record: ScannedRecord) => void,
    maxRecord = () => RECORD_BYTES,
  ) {
    this.#scanner = scanner
    this.#packer = new FramePacker(names, buffers)
    this.#append = append
    this.#fits = fits
    this.#maxRecord = maxRecord
  }

  get count(): number {
    return this.#packer.count
  }

  get size(): number {
    return this.#packer.size
  }

  add(bytes: Uint8Array, start = 0, end = bytes.length): void {
    this.#check()
    const maxBytes = this.#maxRecord()
    if (end - start > maxBytes) throw new MalformedRecord(`the record goes on after ${maxBytes} bytes`, 0)
    const record = this.#scanner.scan(bytes, start, end)
    this.#fits?.(record)
    this.#packer.add(record)
  }

  addScanned(record: ScannedRecord): void {
    this.#check()
    this.#packer.add(record)
  }

  addEvent(event: LogRecord): void {
    this.#check()
    this.#packer.addEvent(event)
  }

  adopt(frame: FrameParts): void {
    this.#check()
    this.#packer.adopt(frame)
  }

  async commit(): Promise<void> {
    this.#check()
    this.#committing = true
    try {
      await this.#append(this.#packer.frames(), this.#packer.size)
      this.#packer.clear()
    } finally {
      this.#committing = false
    }
  }

  #check(): void {
    if (this.#committing) throw new Error('a commit is in progress')
  }
}
