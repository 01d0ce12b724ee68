import t from 'tap'
import { BeginningQueue } from '../../../src/core/schedule/beginning-queue.js'

const turn = async () => await new Promise(setImmediate)

t.test('few requests begin in one turn of the event loop, the others in the next ones, in order', async (t) => {
  const queue = new BeginningQueue(3)
  const begun: number[] = []
  const arrive = (number: number) => {
    if (queue.take()) begun.push(number)
    else queue.add(() => begun.push(number))
  }
  for (let number = 1; number <= 8; number++) arrive(number)
  t.same(begun, [1, 2, 3])
  await turn()
  t.same(begun, [1, 2, 3, 4, 5, 6])
  arrive(9)
  t.equal(begun.length, 6, 'behind those that wait')
  await turn()
  t.same(begun, [1, 2, 3, 4, 5, 6, 7, 8, 9])
  await turn()
  for (let number = 1; number <= 3; number++) arrive(number)
  t.equal(begun.length, 12, 'nothing waits any more')
})

t.test('a request that was deleted does not begin', async (t) => {
  const queue = new BeginningQueue(1)
  t.ok(queue.take())
  const begin = () => t.fail('it begins')
  queue.add(begin)
  queue.delete(begin)
  await turn()
  t.ok(queue.take())
})
