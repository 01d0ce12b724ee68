import { SinkError, type Batch, type Sink } from '../../../src/core/sink.js'
import type { Life } from '../scheduler.js'
import type { World } from '../world.js'

const LATE_MS = 60_000
/** A receiver that rejects large batches accepts this many records. */
const MAX_RECORDS = 2

/** A destination. `arrived` gets each batch that it takes, whether or not the answer reaches the sender. */
export const receiver = (world: World, life: Life, arrived: (name: string, text: string) => void): Sink => ({
  encoding: 'identity',
  limits: {},
  daily: false,
  check: async () => {},
  close: async () => {},
  write: async (batch, signal) => {
    const text = Buffer.from(await batch.body.bytes()).toString()
    await Promise.race([answered(world, life, { batch, text, arrived }), aborted(signal)])
  },
})

async function answered(
  world: World,
  life: Life,
  { batch, text, arrived }: { batch: Batch; text: string; arrived: (name: string, text: string) => void },
): Promise<void> {
  const { scheduler, faults } = world
  const { name, records } = batch
  const late = () => (faults.has('late') ? 1 + faults.random.below(LATE_MS) : 0)
  await scheduler.call(
    life,
    `send ${name}`,
    () => {
      if (faults.has('refused')) throw new SinkError('transient', 'simulated: 503')
      if (faults.isOn('too_large') && records > MAX_RECORDS) throw new SinkError('too_large', 'simulated: 413')
      world.check(() => arrived(name, text))
    },
    late(),
  )
  await scheduler.call(
    life,
    `answer ${name}`,
    () => {
      if (faults.has('unheard')) throw new SinkError('transient', 'simulated: the connection is lost')
    },
    late(),
  )
}

/** Rejects when the signal aborts. */
async function aborted(signal: AbortSignal): Promise<never> {
  signal.throwIfAborted()
  return await new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
}
