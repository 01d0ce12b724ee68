import t from 'tap'
import { Channel, ChannelClosed } from '../../src/daemon/processes/channel.js'

interface Asked {
  readonly double: [number, number]
  readonly wait: [undefined, string]
  readonly note: [string, void]
}
interface Unused {
  readonly unused: [undefined, void]
}

/** Two ends of a connection, with the messages that each has sent. */
function connected() {
  const [requests, responses, notes]: [object[], object[], string[]] = [[], [], []]
  let release: (text: string) => void = () => undefined
  const waited = new Promise<string>((resolve) => (release = resolve))
  const send = (sent: object[], receive: (message: object) => void) => (message: object) => {
    sent.push(message)
    queueMicrotask(() => receive(message))
  }
  const asking: Channel<Asked, Unused> = new Channel<Asked, Unused>(
    { send: send(requests, (message) => serving.receive(message)) },
    { unused: () => undefined },
  )
  const serving = new Channel<Unused, Asked>(
    { send: send(responses, (message) => asking.receive(message)) },
    { double: (number) => number * 2, wait: async () => await waited, note: (text) => void notes.push(text) },
  )
  return { asking, requests, responses, notes, release }
}

t.test('calls of one turn that go together are one message, and so are their responses', async (t) => {
  const { asking, requests, responses } = connected()
  const calls = [1, 2, 3].map(async (number) => await asking.call('double', number, { together: true }))
  t.same(await Promise.all(calls), [2, 4, 6])
  t.equal(requests.length, 1)
  t.equal(responses.length, 1)
  t.equal(await asking.call('double', 4, { together: true }), 8, 'a call that is alone is sent as it is')
  t.notMatch(requests[1], { messages: [] })
})

t.test('a call that waits in its handler does not hold the others of its turn', async (t) => {
  const { asking, release } = connected()
  const slow = asking.call('wait', undefined, { together: true })
  t.equal(await asking.call('double', 1, { together: true }), 2)
  release('done')
  t.equal(await slow, 'done')
})

t.test('messages keep their order', async (t) => {
  const { asking, requests, notes } = connected()
  const call = asking.call('double', 1, { together: true })
  asking.post('note', 'second')
  await call
  t.match(requests, [{ call: 'double' }, { call: 'note' }])
  t.same(notes, ['second'])
})

t.test('a closed connection rejects calls that were not sent yet', async (t) => {
  const { asking, requests } = connected()
  const call = asking.call('double', 1, { together: true })
  asking.close()
  await t.rejects(call, ChannelClosed)
  await new Promise(setImmediate)
  t.same(requests, [])
})
