import { Type, type Static } from 'typebox'
import { orNull } from '../../src/core/schema.js'
import type { LogpushJob } from '../../src/core/model/logpush-job.js'
import type { LogpushServices } from './services.js'

const count = (description: string) => Type.Integer({ minimum: 0, description })

/** How a job fares on this machine. */
export const JobState = Type.Object({
  state: Type.Enum(['running', 'failing', 'waiting', 'off'], {
    description: 'off: the job is disabled, or does not run on this machine.',
  }),
  failing_since: orNull(Type.String({ description: 'First failure since the last success.' })),
  lag_records: count('Accepted, and neither delivered nor passed over.'),
  lag_seconds: Type.Number({ minimum: 0, description: 'Age of the oldest record that was read and not delivered.' }),
  batches: Type.Array(
    Type.Object({
      at: Type.String(),
      records: count('Records of the batch.'),
      bytes: count('Before compression.'),
      ms: count('Duration.'),
      status: Type.Enum(['delivered', 'failed', 'set_aside'], {
        description: 'set_aside: records went to the dead letter destination, or were dropped without one.',
      }),
      error: orNull(Type.String({ description: 'Null if it was delivered.' })),
    }),
    { description: 'The last 50 attempts since the start of the daemon, newest first.' },
  ),
  dead_letters: count('Records in the dead letter destination that were not sent again.'),
})
type JobState = Static<typeof JobState>

const OFF: JobState = {
  state: 'off',
  failing_since: null,
  lag_records: 0,
  lag_seconds: 0,
  batches: [],
  dead_letters: 0,
}

/** Returns how a job fares. */
export function jobState(
  { running, deadLetters }: Pick<LogpushServices, 'running' | 'deadLetters'>,
  { id }: Pick<LogpushJob, 'id'>,
): JobState {
  const dead_letters = deadLetters?.waiting(String(id)) ?? 0
  const found = running?.().find(({ kind, name }) => kind === 'job' && name === String(id))
  if (!found) return { ...OFF, dead_letters }
  const { lagRecords, lagSeconds } = found.progress()
  const state = found.state()
  return {
    state: state === 'ended' ? 'off' : state,
    failing_since: found.failingSince?.() ?? null,
    lag_records: lagRecords,
    lag_seconds: lagSeconds,
    batches: [...(found.attempts?.latest ?? [])],
    dead_letters,
  }
}
