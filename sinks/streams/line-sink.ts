import type { Static } from 'typebox'
import { paramReader, type ParamSchema } from '../contract/params.js'
import { TEST_TEXT, type SinkDeps, type SinkType } from '../contract/sink-type.js'
import { lines } from './lines.js'

/** Data that is sent over one connection. */
export interface LineBatch {
  /** Name of the batch, which is the same whenever the batch is sent again. */
  readonly name: string
  readonly time: Date
  /** Lines in groups. A group is valid until the next one is requested. */
  readonly groups: AsyncIterable<Uint8Array[]>
}

/**
 * Options of a destination that sends each line of a batch as a message of its protocol. `S` is the type of its
 * settings.
 */
export interface LineSinkOptions<P extends ParamSchema, S> extends Pick<SinkType, 'scheme' | 'form' | 'summary'> {
  readonly params: P
  /** Reads the destination, without any I/O. Throws InvalidInput with the pointer "". */
  readonly settings: (destination: URL, given: Static<P>, deps: SinkDeps) => S
  /** Resolves once the destination has the whole batch. Rejects with a SinkError, or with the signal's reason. */
  readonly send: (settings: S, batch: LineBatch, deps: SinkDeps, signal: AbortSignal) => Promise<void>
}

/** Returns a type of destination with one connection per batch. No connection stays open between batches. */
export function lineSinkType<const P extends ParamSchema, S>({
  settings,
  send,
  ...type
}: LineSinkOptions<P, S>): SinkType {
  const read = paramReader(type.params)
  return {
    ...type,

    check(destination, deps) {
      settings(destination, read(destination), deps)
    },

    open(destination, deps) {
      const opened = settings(destination, read(destination), deps)
      return {
        encoding: 'identity',
        limits: {},
        daily: false,
        ordered: true,

        async write({ name, from, body }, signal) {
          await send(opened, { name, time: from, groups: lines(body) }, deps, signal)
        },

        async check(signal) {
          const time = new Date(deps.clock.now())
          await send(opened, { name: 'test', time, groups: testLine() }, deps, signal)
        },

        async close() {},
      }
    },
  }
}

async function* testLine(): AsyncGenerator<Uint8Array[]> {
  yield [Buffer.from(TEST_TEXT)]
}
