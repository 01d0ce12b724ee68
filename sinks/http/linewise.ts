import {
  MAX_IN_FLIGHT,
  RecordsRefused,
  SinkError,
  type Batch,
  type Sink,
  type SinkFailure,
} from '../../src/core/sink.js'

/** Lines of a batch, each without its line break and none of them empty, and what is known of it. */
export interface Lines extends Pick<Batch, 'name' | 'from'> {
  readonly lines: readonly string[]
  /** Which lines of the batch they are, from 0: all of them, or those that are still to be sent. */
  readonly numbers: readonly number[]
}

/** Result for the lines of a request of which some were rejected, by their positions. */
export interface Verdict {
  /** What was wrong, without secrets. */
  readonly message: string
  /** To be sent again. */
  readonly again: readonly number[]
  /** How the lines of `again` failed. */
  readonly failure: SinkFailure
  /** Refused for good, because of what is in them. */
  readonly refused: readonly number[]
}

/** What became of a batch so far, whose lines are known by their numbers. */
interface Halfway {
  /** To be sent. */
  readonly numbers: readonly number[]
  /** Refused for good. */
  readonly refused: readonly number[]
}

/**
 * A way to write batches to a destination that judges each line: another attempt sends only what has not been taken or
 * refused. Rejects with {@link RecordsRefused} once nothing but refused lines is left. `send` has no verdict where the
 * destination took all.
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
