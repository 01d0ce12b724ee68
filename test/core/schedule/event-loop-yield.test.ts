import t from 'tap'
import { EventLoopYield } from '../../../src/core/schedule/event-loop-yield.js'

const TASKS = 16
const STEPS = 40
/** A slice, and the step that ends it. */
const MAX_STEPS = 5

t.test('all tasks of the process together have one slice in a turn of the event loop', async (t) => {
  let now = 0
  t.intercept(performance, 'now', { value: () => now })
  let isDone = false
  let ofTurn = 0
  let most = 0
  const turn = (): void => {
    most = Math.max(most, ofTurn)
    ofTurn = 0
    if (!isDone) setImmediate(turn)
  }
  setImmediate(turn)
  const order: number[] = []
  const work = async (task: number): Promise<void> => {
    const slices = new EventLoopYield()
    await slices.yieldToEventLoop()
    for (let step = 0; step < STEPS; step++) {
      now++
      ofTurn++
      order.push(task)
      await slices.yieldToEventLoop()
    }
  }
  await Promise.all(Array.from({ length: TASKS }, async (_, task) => await work(task)))
  isDone = true
  t.ok(most <= MAX_STEPS, `${most} steps of a millisecond in one turn`)
  t.same(new Set(order.slice(0, TASKS * MAX_STEPS)).size, TASKS, 'each task has a slice before one has its second')
})
