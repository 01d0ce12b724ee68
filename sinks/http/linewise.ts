import {
  MAX_IN_FLIGHT,
  RecordsRefused,
  SinkError,
  type Batch,
  type Sink,
  type SinkFailure,
} from '../../src/core/sink.js'

/** Lines of a batch, without line breaks and without empty lines, and their metadata. */
export interface Lines extends Pick<Batch, 'name' | 'from'> {
  readonly lines: readonly string[]
  /** Indexes of these lines in the batch, from 0. They are all lines, or the lines that are still to be sent. */
  readonly numbers: readonly number[]
}

/** Result of a request that rejected some lines, by index. */
export interface Verdict {
  /** Reason, without secrets. */
  readonly message: string
  /** To be sent again. */
  readonly again: readonly number[]
  /** Type of failure for the lines of `again`. */
  readonly failure: SinkFailure
  /** Lines rejected permanently because of their content. */
  readonly refused: readonly number[]
}

/** State of a batch with outstanding lines, by the indexes of its lines. */
interface Halfway {
  /** To be sent. */
  readonly numbers: readonly number[]
  /** Refused for good. */
  readonly refused: readonly number[]
}

/**
 * Creates a function that writes batches to a destination that accepts or rejects each line. Another attempt sends only
 * lines that were neither accepted nor rejected. Rejects with {@link RecordsRefused} after only rejected lines are
 * left. `send` resolves with undefined if the destination accepted all lines.
 */
export function linewise(
  send: (batch: Lines, signal: AbortSignal) => Promise<Verdict | undefined>,
): Pick<Sink, 'write'>['write'] {
  const halfway = new Map<string, Halfway>()

  return async ({ name, from, body }, signal) => {
    const all = linesOf(Buffer.from(await body.bytes()).toString('utf8'))
    const { numbers, refused: before } = halfway.get(name) ?? {
      numbers: all.map((_line, number) => number),
      refused: [],
    }
    const lines = numbers.map((number) => all[number]!)
    const verdict = await send({ name, from, lines, numbers }, signal)
    halfway.delete(name)
    const { message, failure, ...places } = verdict ?? NOTHING_WRONG
    const again = places.again.map((at) => numbers[at]!)
    const refused = [...before, ...places.refused.map((at) => numbers[at]!)]
    if (again.length > 0) {
      // An abandoned batch, for example one that was split, remains until others replace it.
      if (halfway.size >= MAX_IN_FLIGHT) halfway.delete(halfway.keys().next().value!)
      halfway.set(name, { numbers: again, refused })
      throw new SinkError(failure, message)
    }
    if (refused.length === 0) return
    const inOrder = refused.toSorted((a, b) => a - b).map((number) => all[number]!)
    throw new RecordsRefused(message, { lines: inOrder, taken: all.length - refused.length })
  }
}

const NOTHING_WRONG: Verdict = { message: 'records were refused', again: [], failure: 'refused', refused: [] }

/** The lines of a text, without the empty ones. */
const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '')
