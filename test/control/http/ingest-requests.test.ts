import t from 'tap'
import { IngestRequests } from '../../../control/http/ingest-requests.js'

t.test('an account cannot use all requests that are read concurrently', async (t) => {
  const requests = new IngestRequests('logpushBusy', { total: 3, perAccount: 2 })
  const ends: (() => void)[] = []
  const begin = async (account: string) =>
    await requests.run(account, async () => await new Promise<void>((resolve) => void ends.push(resolve)))
  const busy = { message: 'too many concurrent requests; try again' }
  const running = [begin('a'), begin('a')]
  await t.rejects(begin('a'), busy)
  running.push(begin('b'))
  await t.rejects(begin('c'), busy, 'no more than all together')
  for (const end of ends.splice(0)) end()
  await Promise.all(running)
  const again = begin('a')
  ends[0]!()
  await t.resolves(again)
})
