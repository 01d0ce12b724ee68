import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { SinkError } from '../src/core/sink.js'
import { reasonOf } from './failure.js'
import { params, refuse } from './params.js'
import type { SinkDeps, SinkType } from './sink-type.js'

/** `stdout:`: the text of all batches, one after the other, on standard output. For pipeline files only. */
export const stdout: SinkType = stdoutTo(() => process.stdout)

/** The same to another stream, which it never ends. */
export function stdoutTo(stream: () => Writable): SinkType {
  return {
    scheme: 'stdout',

    check(destination, deps) {
      checked(destination, deps)
    },

    open(destination, deps) {
      checked(destination, deps)
      const out = stream()
      // A failed write is told where it is awaited; the event as well would end the process.
      out.on('error', ignored)
      return {
        encoding: 'identity',
        limits: {},
        daily: false,

        async write({ body }, signal) {
          for await (const piece of body.read()) await written(out, piece, signal)
        },

        async check() {},

        async close() {
          out.off('error', ignored)
        },
      }
    },
  }
}

function ignored(): void {}

function checked(destination: URL, deps: SinkDeps): void {
  if (!deps.allowStdout) refuse('is standard output, which only pipeline files may have')
  params(destination, [])
  if (destination.host !== '' || !['', '/'].includes(destination.pathname)) refuse('has more than stdout:')
}

/** Resolves once the stream has taken a piece: what is written later than that cannot pile up in memory. */
async function written(stream: Writable, piece: Uint8Array, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  if (stream.destroyed || !stream.writable) throw new SinkError('refused', 'standard output is closed')
  try {
    if (!stream.write(piece)) await once(stream, 'drain', { signal })
  } catch (error) {
    signal.throwIfAborted()
    throw new SinkError('refused', `standard output could not be written: ${reasonOf(error)}`, { cause: error })
  }
}
