import t from 'tap'
import { newOrderedUuid, newUuid } from '../../src/core/ids.js'
import type { Delivery } from '../../src/core/model/delivery.js'
import { openEgress } from '../helpers/egress.js'
import { HandClock } from '../helpers/hand-clock.js'
import { turns, until } from '../helpers/web.js'
import { ACCOUNT, receiver, Workbench } from './workbench.js'

/** Accepts deliveries of these findings to one webhook, in order. The payload has the finding and a number. */
async function send(bench: Workbench, webhook_id: string, findings: readonly string[]): Promise<string[]> {
  const made = findings.map((finding, number): Delivery => {
    const id = newOrderedUuid(bench.clock.now())
    return {
      id,
      webhook_id,
      finding_id: finding,
      finding_instance_id: newUuid(),
      integration_id: newUuid(),
      created_at: new Date(bench.clock.now()).toISOString(),
      triggered_by_actor: 'user',
      triggered_by_id: 'u',
      payload: JSON.stringify({ finding, number }),
    }
  })
  await bench.deliveries.accept(ACCOUNT, made)
  return made.map(({ id }) => id)
}

const numbersOf = (bodies: readonly string[], finding: string): number[] =>
  bodies.flatMap((body) => {
    const value = JSON.parse(body) as { finding: string; number: number }
    return value.finding === finding ? [value.number] : []
  })

t.test('deliveries of one finding arrive in order, over retries too, and other findings do not wait', async (t) => {
  const clock = new HandClock()
  const accepted: string[] = []
  let rejected = 0
  const to = await receiver(t, ({ body }, response) => {
    const { finding, number } = JSON.parse(body) as { finding: string; number: number }
    // The first attempt of each even delivery of one finding fails.
    const fails = finding === 'a' && number % 2 === 0 && !accepted.includes(`tried ${number}`)
    if (fails) accepted.push(`tried ${number}`)
    if (fails) rejected++
    else accepted.push(body)
    response.writeHead(fails ? 503 : 204).end()
  })
  const bench = new Workbench(t, await openEgress([to.server]), { clock })
  const id = await bench.webhook(to.url())
  const jobs = await send(bench, id, ['a', 'a', 'b', 'a', 'b', 'c', 'a', 'c', 'b'])
  const bodies = () => accepted.filter((text) => text.startsWith('{'))
  await until(() => bodies().length >= 5)
  t.same(numbersOf(bodies(), 'a'), [], 'the others of the finding wait for its first one')
  t.same(numbersOf(bodies(), 'b'), [2, 4, 8])
  t.same(numbersOf(bodies(), 'c'), [5, 7])
  await until(async () => {
    await clock.advance(1000)
    await turns(20)
    return jobs.every((job) => bench.state(job)?.status === 'completed')
  })
  t.same(numbersOf(bodies(), 'a'), [0, 1, 3, 6])
  t.equal(rejected, 2)
})

t.test('a delivery that fails for good lets the next one of its finding go', async (t) => {
  const clock = new HandClock()
  const to = await receiver(t, ({ body }, response) => {
    const { number } = JSON.parse(body) as { number: number }
    response.writeHead(number === 0 ? 400 : 204).end()
  })
  const bench = new Workbench(t, await openEgress([to.server]), { clock })
  const id = await bench.webhook(to.url())
  const [first = '', second = ''] = await send(bench, id, ['a', 'a'])
  await until(async () => {
    await clock.advance(60_000)
    await turns(20)
    return bench.state(second)?.status === 'completed'
  })
  t.equal(bench.state(first)?.status, 'failed')
})
