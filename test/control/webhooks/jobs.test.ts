import t from 'tap'
import { DELIVERIES, DELIVERY_STATES } from '../../../src/core/model/delivery.js'
import { issuesOf } from '../../../src/core/schema.js'
import { WebhookPayload } from '../../../src/webhooks/payload-schema.js'
import { finding, FINDING, hook, ingest, instance, JOBS, postureClient, scope, sent, TYPE, WEBHOOKS } from './helper.js'

t.test('instances are sent to webhooks, each to each; what cannot be sent is reported with its reason', async (t) => {
  const api = await postureClient(t)
  const { call } = api
  const [one, two, off] = [await hook(api), await hook(api, { label: 'Two' }), await hook(api, { status: 'disabled' })]
  const content = { category: { observation: 'Issue', product: 'SaaS', type: 'Content' } }
  await ingest(api, finding('f1', [instance('i1'), instance('i2')]), finding('f2', [instance('c1')], content))
  const { status, body } = await call('POST', JOBS, {
    finding_instance_ids: ['i1', 'i2', 'i1', 'c1', 'none'],
    webhook_ids: [one, two, off, 'none'],
  })
  t.equal(status, 200)
  t.same(body.result.created.length, 4)
  t.strictSame(body.result.created[0], {
    id: body.result.created[0].id,
    webhook_id: one,
    kind: 'manual',
    integration_id: 'int-1',
    asset_data: instance('i1').asset,
    parameters: { finding_instance_id: 'i1' },
    status: 'pending',
    triggered_by_actor: 'account_token',
    triggered_by_id: body.result.created[0].triggered_by_id,
    created_at: '2026-11-21T12:00:00.000Z',
    last_updated_at: '2026-11-21T12:00:00.000Z',
    attempts: 0,
    last_status_code: null,
    next_try_at: '2026-11-21T12:00:00.000Z',
  })
  const reasons = Object.fromEntries(
    body.result.failed.map((failed: { error: string; finding_instance_id: string; webhook_id: string }) => [
      `${failed.finding_instance_id} ${failed.webhook_id}`,
      failed.error,
    ]),
  )
  t.equal(body.result.failed.length, 12)
  t.match(reasons[`c1 ${one}`], /content findings are never sent/)
  t.match(reasons[`none ${one}`], /unknown finding instance/)
  t.match(reasons[`i1 ${off}`], /disabled/)
  t.match(reasons['i1 none'], /unknown webhook/)
  t.same(sent(api), [
    ['i1', one],
    ['i1', two],
    ['i2', one],
    ['i2', two],
  ])

  const issues = issuesOf(WebhookPayload)
  for (const { id, value } of api.store.list(DELIVERIES)) {
    const payload = JSON.parse(value.payload)
    t.same(issues(payload), [])
    t.equal(payload.id, id)
  }
  const payload = JSON.parse(api.store.list(DELIVERIES)[1]?.value.payload ?? '')
  t.match(payload, {
    type: 'posture.finding_instance',
    metadata: {
      actor: { type: 'account_token' },
      destination: { webhook_id: two, label: 'Two' },
      sent_at: '2026-11-21T12:00:00.000Z',
      payload_version: 1,
    },
    data: {
      finding: { id: 'f1', finding_type_id: TYPE, name: 'Public file' },
      instance: { id: 'i1', affliction_date: '2026-11-21T10:00:00Z' },
      asset: { name: 'file i1' },
      integration: { id: 'int-1' },
    },
  })

  t.match((await call('GET', `${FINDING}/f1/instances/i1`)).body.result.webhooks, [
    { webhook_id: one, webhook_label: 'Channel', latest_job: { status: 'pending', stale: false } },
    { webhook_id: two, webhook_label: 'Two' },
  ])
  const BAD: [body: object, pointer: string][] = [
    [{}, '/finding_instance_ids'],
    [{ finding_instance_ids: [], webhook_ids: [one] }, '/finding_instance_ids'],
    [{ finding_instance_ids: ['i1'], webhook_ids: [] }, '/webhook_ids'],
    [{ finding_instance_ids: 'i1', webhook_ids: [one] }, '/finding_instance_ids'],
    [{ finding_instance_ids: [1], webhook_ids: [one] }, '/finding_instance_ids/0'],
    [{ finding_instance_ids: ['i1'], webhook_ids: [null] }, '/webhook_ids/0'],
    [{ finding_instance_ids: ['i1'], webhook_ids: [one], now: true }, '/now'],
    [
      {
        finding_instance_ids: Array.from({ length: 101 }, (_, at) => `${at}`),
        webhook_ids: Array.from({ length: 100 }, (_, at) => `${at}`),
      },
      '/finding_instance_ids',
    ],
  ]
  for (const [bad, pointer] of BAD)
    t.match(await call('POST', JOBS, bad), { status: 400, body: { errors: [{ code: 10604, source: { pointer } }] } })
  t.equal(sent(api).length, 4)
})

t.test('jobs are listed, read with their attempts, and sent again after they finished', async (t) => {
  const api = await postureClient(t)
  const { call, store, clock } = api
  const one = await hook(api)
  const two = await hook(api)
  await ingest(api, finding('f1', [instance('i1'), instance('i2')]))
  const created = await call('POST', JOBS, { finding_instance_ids: ['i1', 'i2'], webhook_ids: [one, two] })
  const [first, second] = created.body.result.created
  const list = async (query: string) =>
    (await call('GET', `${JOBS}?${query}`)).body.result.map(({ id }: { id: string }) => id)
  t.same(
    (await list('')).toReversed(),
    created.body.result.created.map(({ id }: { id: string }) => id),
  )
  t.match((await call('GET', `${JOBS}?per_page=3&page=2`)).body, {
    result: [{ id: first.id }],
    result_info: { page: 2, per_page: 3, count: 1, total_count: 4, total_pages: 2 },
  })
  t.same((await list(`webhook_id=${two}`)).length, 2)
  t.same(await list(`finding_instance_id=i1&webhook_id=${one}`), [first.id])
  t.same(await list('status=failed'), [])

  const tries = [
    { at: '2026-11-21T12:00:00.000Z', status_code: 500, duration_ms: 12, error: 'status 500', response: 'no' },
  ]
  await store.change(DELIVERY_STATES, scope, first.id, () => ({
    status: 'failed' as const,
    last_updated_at: '2026-11-21T12:00:01.000Z',
    tries,
    attempts: 1,
    failure_reason: 'Service Temporarily Unavailable' as const,
    failure_details: { status_code: 500 },
  }))
  t.same(await list('status=failed'), [first.id])
  t.match((await call('GET', `${JOBS}/${first.id}`)).body.result, {
    status: 'failed',
    failure_reason: 'Service Temporarily Unavailable',
    failure_details: { status_code: 500 },
    tries,
    attempts: 1,
    last_status_code: 500,
    next_try_at: null,
  })
  t.notHas((await call('GET', `${JOBS}/${first.id}`)).body.result, { payload: {} })
  t.match((await call('GET', `${JOBS}/${first.id}?include=payload`)).body.result.payload, {
    id: first.id,
    data: { instance: { id: 'i1' } },
  })
  t.match(await call('GET', `${JOBS}/${first.id}?include=all`), { status: 400 })
  clock.advance(60_000)
  t.match((await call('POST', `${JOBS}/${first.id}/retry`)).body.result, {
    id: first.id,
    status: 'pending',
    attempts: 1,
    last_status_code: 500,
    next_try_at: '2026-11-21T12:01:00.000Z',
    tries,
  })
  t.match(await call('POST', `${JOBS}/${first.id}/retry`), { status: 409, body: { errors: [{ code: 10606 }] } })
  t.match(await call('POST', `${JOBS}/none/retry`), { status: 404, body: { errors: [{ code: 10605 }] } })
  t.match(await call('GET', `${JOBS}/none`), { status: 404, body: { errors: [{ code: 10605 }] } })
  await call('DELETE', `${WEBHOOKS}/${two}`)
  t.match(await call('POST', `${JOBS}/${second.id}/retry`), { status: 409, body: { errors: [{ code: 10607 }] } })
  t.match((await call('GET', `${FINDING}/f1/instances/i1`)).body.result.webhooks[1], { webhook_label: 'Channel' })
})

t.test('all jobs that match a filter are sent again; time bounds the list and the retry alike', async (t) => {
  const api = await postureClient(t)
  const { call, store, clock } = api
  const [one, two] = [await hook(api), await hook(api)]
  await ingest(api, finding('f1', [instance('i1'), instance('i2'), instance('i3')]))
  const send = async (instances: string[], hooks: string[]): Promise<string[]> =>
    (await call('POST', JOBS, { finding_instance_ids: instances, webhook_ids: hooks })).body.result.created.map(
      ({ id }: { id: string }) => id,
    )
  const end = async (status: 'completed' | 'failed', ...ids: string[]) => {
    for (const id of ids)
      await store.change(DELIVERY_STATES, scope, id, (old) => ({
        status,
        last_updated_at: old?.last_updated_at ?? new Date(clock.now()).toISOString(),
        tries: [],
        attempts: 2,
      }))
  }
  const early = await send(['i1', 'i2'], [one, two])
  clock.advance(60_000)
  const late = await send(['i1', 'i2', 'i3'], [one])
  await end('failed', ...early, late[0]!)
  await end('completed', late[1]!)

  const since = '2026-11-21T12:01:00Z'
  const listed = async (query: string) => (await call('GET', `${JOBS}?${query}`)).body.result_info.total_count
  t.equal(await listed(`since=${since}`), 3)
  t.equal(await listed(`until=${since}`), 4)
  t.equal(await listed('since=2026-11-21T13:01:00%2B01:00&status=failed'), 1)
  t.match(await call('GET', `${JOBS}?since=yesterday`), {
    status: 400,
    body: { errors: [{ source: { pointer: '/since' } }] },
  })

  const retry = async (body: object) => (await call('POST', `${JOBS}/retry`, body)).body.result
  const none = { retried: 0, pending: 0, disabled: 0, over_limit: 0 }
  t.strictSame(await retry({ finding_instance_id: 'i9' }), none)
  t.strictSame(await retry({ webhook_id: two, status: 'failed', until: since }), { ...none, retried: 2 })
  t.strictSame(await retry({ webhook_id: two }), { ...none, pending: 2 })
  t.match((await call('GET', `${JOBS}/${early[1]}`)).body.result, { status: 'pending', attempts: 2 })
  t.strictSame(await retry({ since }), { ...none, retried: 2, pending: 1 })

  api.limits.pending = 6
  t.strictSame(await retry({}), { ...none, retried: 1, pending: 5, over_limit: 1 })
  await end('failed', ...early)
  await call('DELETE', `${WEBHOOKS}/${two}`)
  t.strictSame(await retry({ until: since }), { ...none, retried: 2, disabled: 2 })
  for (const [body, pointer] of [
    [{ state: 'failed' }, '/state'],
    [{ status: 'over' }, '/status'],
    [{ until: "5 o'clock" }, '/until'],
  ] as const)
    t.match(await call('POST', `${JOBS}/retry`, body), { status: 400, body: { errors: [{ source: { pointer } }] } })
})
