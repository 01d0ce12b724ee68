import Cloudflare from 'cloudflare'
import t, { type Test } from 'tap'
import { storage } from '../../../control/storage/index.js'
import { WORKER_SCRIPTS } from '../../../src/core/model/worker.js'
import { account } from '../../../src/core/scope.js'
import { fileBlobs } from '../../../src/store/blobs/file-blobs.js'
import { newScript } from '../../../src/workers/script-repository.js'
import { all } from '../../helpers/all.js'
import { testFolder } from '../../helpers/folder.js'
import { ACCOUNT, ADMIN, client, handClock } from '../client.js'

const QUEUES = `/accounts/${ACCOUNT}/queues`
const inAccount = { account_id: ACCOUNT }

async function open(t: Test) {
  const clock = handClock()
  const blobs = fileBlobs(testFolder(t), clock)
  const api = await client(t, { clock, areas: (deps) => storage({ ...deps, blobs: () => blobs }) })
  const cf = new Cloudflare({ apiToken: ADMIN, maxRetries: 0, baseURL: api.url })
  return { ...api, clock, queues: cf.queues }
}

t.test('the official client creates, renames, lists and deletes queues', async (t) => {
  const { queues, call } = await open(t)
  const created = await queues.create({ ...inAccount, queue_name: 'jobs' })
  const id = created.queue_id ?? ''
  t.match(created, { queue_name: 'jobs', producers_total_count: 0, consumers: [], settings: { delivery_delay: 0 } })
  await queues.create({ ...inAccount, queue_name: 'other' })
  await t.rejects(queues.create({ ...inAccount, queue_name: 'jobs' }), { status: 409, errors: [{ code: 11009 }] })
  await t.rejects(queues.create({ ...inAccount, queue_name: '-' }), { status: 400, errors: [{ code: 11003 }] })
  const settings = { delivery_delay: 5, message_retention_period: 60 }
  t.match(await queues.edit(id, { ...inAccount, queue_name: 'work', settings }), { queue_name: 'work', settings })
  t.match(await all(queues.list(inAccount)), [{ queue_name: 'other' }, { queue_name: 'work' }])
  t.match((await call('GET', `${QUEUES}?name=work&name=none`)).body.result, [{ queue_name: 'work' }])
  await queues.delete(id, inAccount)
  await t.rejects(queues.get(id, inAccount), { status: 404, errors: [{ code: 11000 }] })
})

t.test('messages are leased, acknowledged, retried and moved to the dead letter queue', async (t) => {
  const { queues, call, clock } = await open(t)
  const id = (await queues.create({ ...inAccount, queue_name: 'jobs' })).queue_id ?? ''
  const dead = (await queues.create({ ...inAccount, queue_name: 'dead' })).queue_id ?? ''
  const { messages, consumers } = queues
  await t.rejects(messages.pull(id, inAccount), { status: 400, errors: [{ code: 11003 }] }, 'without a consumer')
  const settings = { batch_size: 2, max_retries: 1, visibility_timeout_ms: 1000 }
  await consumers.create(id, { ...inAccount, type: 'http_pull', dead_letter_queue: 'dead', settings })
  await t.rejects(consumers.create(id, { ...inAccount, type: 'http_pull' }), { errors: [{ code: 11004 }] })
  await consumers.create(dead, { ...inAccount, type: 'http_pull' })

  await messages.push(id, { ...inAccount, body: { n: 1 }, content_type: 'json' })
  const { metadata } = await messages.bulkPush(id, {
    ...inAccount,
    messages: [
      { body: 'two', content_type: 'text' },
      { body: 'later', content_type: 'text', delay_seconds: 10 },
      { body: 'x'.repeat(5000), content_type: 'text' },
    ],
  })
  t.match(metadata, { metrics: { backlog_count: 4, backlog_bytes: 5015 } })
  const first = await messages.pull(id, inAccount)
  t.match(first.messages, [
    { body: Buffer.from('{"n":1}').toString('base64'), attempts: 1, metadata: { 'CF-Content-Type': 'json' } },
    { body: 'two', attempts: 1 },
  ])
  const rest = await messages.pull(id, inAccount)
  t.match(rest.messages, [{ body: /^x{5000}$/ }])
  t.equal(rest.messages?.length, 1, 'what is leased or delayed is not delivered')
  const lease = (at: number) => ({ lease_id: first.messages?.[at]?.lease_id ?? '' })
  t.match(
    await messages.ack(id, {
      ...inAccount,
      acks: [lease(0), { lease_id: 'none.1' }],
      retries: [{ ...lease(1), delay_seconds: 3 }],
    }),
    { ackCount: 1, retryCount: 1 },
  )

  clock.advance(1500)
  const again = await messages.pull(id, inAccount)
  t.match(again.messages, [{ body: /^x/, attempts: 2 }], 'a lease that ended is delivered again')
  t.match(
    await messages.ack(id, { ...inAccount, acks: [{ lease_id: rest.messages?.[0]?.lease_id ?? '' }] }),
    { ackCount: 0 },
    'an old lease has no effect',
  )
  clock.advance(2000)
  const last = await messages.pull(id, inAccount)
  t.match(last.messages, [{ body: 'two', attempts: 2 }], 'after its delay')
  t.match((await messages.pull(dead, inAccount)).messages, [{ body: /^x/, attempts: 1 }], 'delivered too often')
  await messages.ack(id, { ...inAccount, retries: [{ lease_id: last.messages?.[0]?.lease_id ?? '' }] })
  t.match((await messages.pull(dead, inAccount)).messages, [{ body: 'two' }])

  const { messages: peeked = [] } = await messages.peek(id, inAccount)
  t.match(peeked, [{ body: 'later', attempts: 0 }])
  await messages.purge(id, { ...inAccount, refs: [{ ref: peeked[0]?.ref ?? '' }] })
  t.match(await queues.getMetrics(id, inAccount), { backlog_count: 0 })
  await queues.purge.start(dead, { ...inAccount, delete_messages_permanently: true })
  t.match(await queues.purge.status(dead, inAccount), { completed: 'true' })
  t.match(await queues.getMetrics(dead, inAccount), { backlog_count: 0, oldest_message_timestamp_ms: 0 })

  await messages.push(id, { ...inAccount, body: 'old', content_type: 'text' })
  clock.advance(5 * 86_400_000)
  t.same((await messages.pull(id, inAccount)).messages, [], 'messages end after the retention period')
  for (const body of [
    { body: 5, content_type: 'text' },
    { body: 'x'.repeat(128_001), content_type: 'text' },
  ])
    t.equal((await call('POST', `${QUEUES}/${id}/messages`, body)).body.errors[0].source.pointer, '/body')
})

t.test('a Worker of the account can be the consumer', async (t) => {
  const { queues, call, store } = await open(t)
  const id = (await queues.create({ ...inAccount, queue_name: 'jobs' })).queue_id ?? ''
  const consumers = `${QUEUES}/${id}/consumers`
  const worker = { type: 'worker', script_name: 'app', settings: { batch_size: 5, max_concurrency: null } }
  t.equal((await call('POST', consumers, worker)).body.errors[0].source.pointer, '/script_name')
  await store.batch([{ kind: WORKER_SCRIPTS, scope: account(ACCOUNT), id: 'app', value: newScript('app', '') }])
  t.equal(
    (await call('POST', consumers, { ...worker, dead_letter_queue: 'none' })).body.errors[0].source.pointer,
    '/dead_letter_queue',
  )
  const { result } = (await call('POST', consumers, worker)).body
  t.match(result, {
    script: 'app',
    type: 'worker',
    settings: { batch_size: 5, max_retries: 3, max_wait_time_ms: 5000 },
  })
  t.match((await queues.get(id, inAccount)).consumers, [{ consumer_id: result.consumer_id, script: 'app' }])
  const changed = await call('PUT', `${consumers}/${result.consumer_id}`, { ...worker, settings: { max_retries: 0 } })
  t.match(changed.body.result, { consumer_id: result.consumer_id, settings: { batch_size: 10, max_retries: 0 } })
  t.equal((await call('GET', `${consumers}/none`)).body.errors[0].code, 11002)
  t.equal((await call('DELETE', `${consumers}/${result.consumer_id}`)).status, 200)
  t.same(await all(queues.consumers.list(id, inAccount)), [])
})
