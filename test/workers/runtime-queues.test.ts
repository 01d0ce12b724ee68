import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { SKIP, workersDaemon } from './runtime-helper.js'

const skip = { skip: SKIP }

t.test('a script consumes what another one sends, with retries and a dead letter queue', skip, async (t) => {
  const daemon = await workersDaemon(t)
  const create = async (name: string): Promise<string> =>
    (await daemon.api('POST', '/queues', { queue_name: name })).body.result.queue_id
  const jobs = await create('jobs')
  const dead = await create('dead')
  const { body: kv } = await daemon.api('POST', '/storage/kv/namespaces', { title: 'seen' })
  const bindings = [
    { name: 'JOBS', type: 'queue', queue_name: 'jobs' },
    { name: 'SEEN', type: 'kv_namespace', namespace_id: kv.result.id },
  ]
  await daemon.upload(
    'producer',
    `export default { async fetch(request, env) {
       await env.JOBS.send({ n: 1, date: new Date(5) }, { contentType: 'v8' })
       await env.JOBS.send({ n: 2 }, { contentType: 'json' })
       await env.JOBS.sendBatch([{ body: 'text', contentType: 'text' }, { body: new Uint8Array([1, 2]), contentType: 'bytes' }])
       const error = await env.JOBS.send('x'.repeat(130_000), { contentType: 'text' }).catch((error) => error.message)
       const noJson = await env.JOBS.send(() => 1).then(() => 'sent', () => 'rejected')
       return Response.json([error, (await env.JOBS.metrics()).backlogCount, noJson])
     } }`,
    { bindings },
  )
  const consumer = `export default { async queue(batch, env) {
    for (const message of batch.messages) {
      const { body } = message
      if (body.n === 2) { await env.SEEN.put('failed', String(message.attempts)); message.retry(); continue }
      const key = typeof body === 'string' ? body : body.n ? 'n' + body.n + body.date.getTime() : 'bytes' + new Uint8Array(body).join()
      await env.SEEN.put(key, batch.queue)
    }
  } }`
  const { result } = await daemon.upload('consumer', consumer, { bindings })
  t.same(result.handlers, ['queue'])
  const settings = { batch_size: 10, max_wait_time_ms: 50, max_retries: 2 }
  await daemon.api('POST', `/queues/${jobs}/consumers`, {
    type: 'worker',
    script_name: 'consumer',
    dead_letter_queue: 'dead',
    settings,
  })
  await daemon.domain('producer')
  const sent = await daemon.get('producer.example.test', '/', { headers: { accept: 'application/json' } })
  t.match(JSON.parse(sent.text), [/128,?000|too large|413/i, Number, 'rejected'])
  const count = async (id: string): Promise<number> =>
    (await daemon.api('GET', `/queues/${id}/metrics`)).body.result.backlog_count
  while ((await count(dead)) === 0) await sleep(50)
  t.equal(await count(jobs), 0)
  const { body: seen } = await daemon.api('GET', `/storage/kv/namespaces/${kv.result.id}/keys`)
  t.same(
    seen.result.map(({ name }: { name: string }) => name),
    ['bytes1,2', 'failed', 'n15', 'text'],
  )
  t.equal(
    (await daemon.api('GET', `/storage/kv/namespaces/${kv.result.id}/values/failed`)).body,
    3,
    'once and two retries',
  )
  t.match((await daemon.api('GET', `/queues/${jobs}`)).body.result.producers, [
    { script: 'consumer' },
    { script: 'producer' },
  ])

  await daemon.upload('consumer', 'export default { queue() { throw new Error("broken") } }', { bindings })
  await daemon.api('POST', `/queues/${jobs}/messages`, { body: 'again', content_type: 'text' })
  while ((await count(dead)) === 1) await sleep(50)
  t.equal(await count(jobs), 0, 'a handler that throws retries all of its batch')
})

t.test('messages without a delay get the delay of the binding', skip, async (t) => {
  const daemon = await workersDaemon(t)
  const { queue_id: id } = (await daemon.api('POST', '/queues', { queue_name: 'jobs' })).body.result
  await daemon.api('POST', `/queues/${id}/consumers`, { type: 'http_pull' })
  const late = { type: 'queue', queue_name: 'jobs', delivery_delay: 600 }
  await daemon.upload(
    'producer',
    `export default { async fetch(_, { LATE, JOBS }) {
       await LATE.send('late', { contentType: 'text' })
       await LATE.send('soon', { contentType: 'text', delaySeconds: 0 })
       await JOBS.send('plain', { contentType: 'text' })
       return new Response()
     } }`,
    {
      bindings: [
        { name: 'JOBS', type: 'queue', queue_name: 'jobs' },
        { name: 'LATE', ...late },
      ],
    },
  )
  await daemon.domain('producer')
  await daemon.get('producer.example.test')
  const { result } = (await daemon.api('POST', `/queues/${id}/messages/pull`, { batch_size: 10 })).body
  t.same([result.messages.length, result.message_backlog_count], [2, 3])
})
