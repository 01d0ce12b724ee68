// Alone: it replaces the time of the process.
import t, { type Test } from 'tap'
import { basicEndpoints } from '../../../control/index.js'
import { storage } from '../../../control/storage/index.js'
import { fileBlobs } from '../../../src/store/blobs/file-blobs.js'
import { testFolder } from '../../helpers/folder.js'
import { ACCOUNT, client, handClock } from '../client.js'

const COUNT = 300
/** The time of all tests, which never goes back. */
let now = 0

async function open(t: Test) {
  const clock = handClock()
  const blobs = fileBlobs(testFolder(t), clock)
  const areas: NonNullable<Parameters<typeof client>[1]>['areas'] = (deps) => [
    ...basicEndpoints(deps),
    ...storage({ ...deps, blobs: () => blobs }),
  ]
  const { call, deps } = await client(t, { clock, areas })
  // Every slice of work is over when it is asked for, so that every pause is a turn of its own.
  t.capture(performance, 'now', () => (now += 1000))
  /** Returns how many turns of the event loop a request takes. */
  const turns = async (method: string, path: string, body: unknown): Promise<number> => {
    let count = 0
    let done = false
    const follow = () => {
      count++
      if (!done) setImmediate(follow)
    }
    setImmediate(follow)
    t.match(await call(method, path, body), { status: 200 })
    done = true
    return count
  }
  return { call, turns, store: deps.store }
}

t.test('each of many values is checked and written in a slice of its own', async (t) => {
  const { call, turns } = await open(t)
  const namespaces = `/accounts/${ACCOUNT}/storage/kv/namespaces`
  const { id } = (await call('POST', namespaces, { title: 'mine' })).body.result
  const values = Array.from({ length: COUNT }, (_, at) => ({ key: `key ${at}`, value: 'v', metadata: { at } }))
  t.ok((await turns('PUT', `${namespaces}/${id}/bulk`, values)) > 2 * COUNT)
})

t.test('each of many items of a list is checked in a slice of its own', async (t) => {
  const { call, turns } = await open(t)
  const lists = `/accounts/${ACCOUNT}/rules/lists`
  const { id } = (await call('POST', lists, { name: 'networks', kind: 'ip' })).body.result
  const items = Array.from({ length: COUNT }, (_, at) => ({ ip: `2001:db8:${at.toString(16)}::/48` }))
  t.ok((await turns('PUT', `${lists}/${id}/items`, items)) > COUNT)
})

t.test('many values are stored and removed in several batches of the store', async (t) => {
  const { call, store } = await open(t)
  const namespaces = `/accounts/${ACCOUNT}/storage/kv/namespaces`
  const { id } = (await call('POST', namespaces, { title: 'mine' })).body.result
  const keys = Array.from({ length: 1200 }, (_, at) => `key ${at}`)
  const values = keys.map((key) => ({ key, value: 'v' }))
  let sizes: number[] = []
  const batch = store.batch.bind(store)
  t.capture(store, 'batch', async (...args: Parameters<typeof batch>) => {
    sizes.push(args[0].length)
    return await batch(...args)
  })
  t.match(await call('PUT', `${namespaces}/${id}/bulk`, values), { status: 200 })
  t.same(sizes, [500, 500, 200])

  sizes = []
  const removed = await call('POST', `${namespaces}/${id}/bulk/delete`, [...keys, 'unknown', 'key 1'])
  t.match(removed, { status: 200, body: { result: { successful_key_count: keys.length + 2 } } })
  t.same(sizes, [500, 500, 200])
  t.same((await call('GET', `${namespaces}/${id}/keys`)).body.result, [])

  t.match(await call('PUT', `${namespaces}/${id}/bulk`, values), { status: 200 })
  sizes = []
  t.match(await call('DELETE', `${namespaces}/${id}`), { status: 200 })
  t.same(sizes, [500, 500, 200, 2], 'the namespace and its title last')
  t.match(await call('GET', `${namespaces}/${id}`), { status: 404 })
})
