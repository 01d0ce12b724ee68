import t from 'tap'
import { WEBHOOKS as STORED } from '../../src/core/model/webhook.js'
import { account } from '../../src/core/scope.js'
import { ACCOUNT, NOWHERE } from './client.js'
import { BASIC, postureClient, webhook, WEBHOOKS } from './posture-helper.js'

t.test('a webhook is created, read, listed, updated and deleted', async (t) => {
  const { call, clock, store } = await postureClient(t)
  const made = await call('POST', WEBHOOKS, webhook())
  t.match(made.body.result, { id: /^[0-9a-f]{8}-/, version: 1, status: 'enabled' })
  const { id } = made.body.result
  t.strictSame(made.body.result, {
    id,
    label: 'Channel',
    destination_url: 'https://hooks.example.com/in',
    authentication_type: 'None',
    status: 'enabled',
    version: 1,
    created_at: '2026-11-21T12:00:00.000Z',
    updated_at: '2026-11-21T12:00:00.000Z',
  })
  t.strictSame((await call('GET', `${WEBHOOKS}/${id}`)).body.result, made.body.result)
  t.strictSame((await call('GET', WEBHOOKS)).body.result, [made.body.result])
  clock.advance(1000)
  const updated = await call('PUT', `${WEBHOOKS}/${id}`, webhook({ ...BASIC, status: 'disabled', label: 'New' }))
  t.match(updated.body.result, {
    id,
    label: 'New',
    status: 'disabled',
    version: 2,
    created_at: '2026-11-21T12:00:00.000Z',
    updated_at: '2026-11-21T12:00:01.000Z',
    headers: [{ key: 'authorization' }],
  })
  const removed = await call('DELETE', `${WEBHOOKS}/${id}`)
  t.strictSame(removed.body, { success: true, errors: [], messages: [] })
  t.match(await call('GET', `${WEBHOOKS}/${id}`), { status: 404, body: { errors: [{ code: 10602 }] } })
  t.match(await call('DELETE', `${WEBHOOKS}/${id}`), { status: 404 })
  t.match(await call('PUT', `${WEBHOOKS}/${id}`, webhook({ status: 'enabled' })), { status: 404 })
  t.match(await call('POST', `${WEBHOOKS}/${id}/evaluate`), { status: 404 })
  t.strictSame((await call('GET', WEBHOOKS)).body.result, [])
  t.match(store.get(STORED, account(ACCOUNT), id)?.value, { deleted_at: String, headers: [] })
  t.match(await call('GET', `/accounts/${NOWHERE}/data-security/posture/webhooks`), { status: 404 })
})
