import type { SinkDeps, SinkType } from '../sink-type.js'
import { TEST_TEXT } from '../test-text.js'
import { lines } from './lines.js'

/** What is sent over one connection. */
export interface LineBatch {
  /** The same whenever the batch is sent again. */
  readonly name: string
  readonly time: Date
  /** Its lines in groups; each is good until the next group is asked for. */
  readonly groups: AsyncIterable<Uint8Array[]>
}

/** How a destination differs that takes each line of a batch as a message of its own protocol. `S`: its settings. */
export interface LineSinkOptions<S> extends Pick<SinkType, 'scheme' | 'secrets'> {
  /** Reads the destination, without any I/O. Throws InvalidInput with the pointer "". */
  readonly settings: (destination: URL, deps: SinkDeps) => S
  /** Resolves once the destination has it all. Rejects with a SinkError, or with the signal's reason. */
  readonly send: (settings: S, batch: LineBatch, deps: SinkDeps, signal: AbortSignal) => Promise<void>
}

/** A kind of destination that gets a connection for each batch: nothing of it stays open, whatever the server does. */
export function lineSinkType<S>({ settings, send, ...type }: LineSinkOptions<S>): SinkType {
  return {
    ...type,

    check(destination, deps) {
      settings(destination, deps)
    },

    open(destination, deps) {
      const read = settings(destination, deps)
      return {
        encoding: 'identity',
        limits: {},
        daily: false,

        async write({ name, from, body }, signal) {
          await send(read, { name, time: from, groups: lines(body) }, deps, signal)
        },

        async check(signal) {
          const time = new Date(deps.clock.now())
          await send(read, { name: 'test', time, groups: testLine() }, deps, signal)
        },

        async close() {},
      }
    },
  }
}

async function* testLine(): AsyncGenerator<Uint8Array[]> {
  yield [Buffer.from(TEST_TEXT)]
}
