import type { LogRecord } from '../../../src/core/emit.js'
import type { Scope } from '../../../src/core/scope.js'
import { DATASETS } from '../../records/index.js'
import { Buffers } from './buffers.js'
import { FRAME_ROOM, FramePacker } from './layout.js'
import type { EventSpool, EventSpools, EventWriter, FrameParts } from './types.js'

/** Sends frames to the process that owns the spool. Resolves when it has accepted them. */
export type SendFrames = (dataset: string, scope: Scope, frames: readonly FrameParts[]) => Promise<void>

const SPARE_BUFFERS = 8

/** Creates the spools of another process. Events are packed here and sent as frames. */
export function remoteSpools(send: SendFrames): EventSpools {
  const buffers = new Buffers(FRAME_ROOM, SPARE_BUFFERS)
  return {
    // oxlint-disable-next-line typescript/require-await
    async open(dataset, scope): Promise<EventSpool> {
      const names = DATASETS.get(dataset)?.names
      if (names === undefined) throw new Error(`unknown dataset ${dataset}`)
      return {
        dataset,
        scope,
        writer: () => new RemoteWriter(new FramePacker(names, buffers), (frames) => send(dataset, scope, frames)),
      }
    },
  }
}

/** Packs events. A commit sends their frames. */
class RemoteWriter implements EventWriter {
  readonly #packer: FramePacker
  readonly #send: (frames: readonly FrameParts[]) => Promise<void>

  constructor(packer: FramePacker, send: (frames: readonly FrameParts[]) => Promise<void>) {
    this.#packer = packer
    this.#send = send
  }

  get size(): number {
    return this.#packer.size
  }

  addEvent(event: LogRecord): void {
    this.#packer.addEvent(event)
  }

  adopt(frame: FrameParts): void {
    this.#packer.adopt(frame)
  }

  async commit(): Promise<void> {
    if (this.#packer.count === 0) return
    await this.#send(this.#packer.frames())
    this.#packer.clear()
  }
}
