import t from 'tap'
import { WEBHOOKS as STORED } from '../../../src/core/model/webhook.js'
import { account } from '../../../src/core/scope.js'
import { secretOf } from '../../../src/core/vault.js'
import { Keyring } from '../../../src/store/secrets/keyring.js'
import { disableWebhook } from '../../../src/webhooks/disable.js'
import { BAD_CREDENTIALS, BAD_WEBHOOKS } from './bad-webhooks.js'
import { ACCOUNT, NOWHERE, type TestResponse } from '../client.js'
import { BASIC, hook, INGEST, POSTURE, postureClient, scope, webhook, WEBHOOKS } from './helper.js'

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
    edged: { state: 'healthy', failing_since: null, failures: 0, next_try_at: null, waiting: 0, success: [] },
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

const pointers = ({ body }: TestResponse): string[] =>
  body.errors.map(({ source }: { source?: { pointer: string } }) => source?.pointer ?? '').sort()

t.test('bad webhooks are rejected with a pointer to each issue, and nothing is stored or sent', async (t) => {
  const { call, store, tested } = await postureClient(t)
  t.ok(BAD_WEBHOOKS.length > 120)
  for (const [what, change, ...faults] of BAD_WEBHOOKS) {
    const response = await call('POST', WEBHOOKS, webhook(change))
    t.equal(response.status, 400, what)
    t.same(pointers(response), faults.toSorted(), what)
    t.same([...new Set(response.body.errors.map(({ code }: { code: number }) => code))], [10601], what)
  }
  for (const [what, change, ...faults] of BAD_CREDENTIALS) {
    const { label: _label, ...candidate } = webhook(change)
    const response = await call('POST', `${WEBHOOKS}/evaluate`, candidate)
    t.equal(response.status, 400, what)
    t.same(pointers(response), faults.toSorted(), what)
  }
  for (const body of ['[]', '1', 'null', '"a"'])
    t.match(await call('POST', WEBHOOKS, body), { status: 400, body: { errors: [{ code: 10601 }] } })
  t.match(await call('POST', WEBHOOKS, '{'), { status: 400, body: { errors: [{ code: 6007 }] } })
  t.match(await call('POST', WEBHOOKS, 'a', { 'content-type': 'text/plain' }), { status: 415 })
  t.equal([...store.records()].length, 0)
  t.same(tested, [])
})

t.test('a bad update is rejected with pointers, and changes nothing', async (t) => {
  const { call, store } = await postureClient(t)
  const { id } = (await call('POST', WEBHOOKS, webhook(BASIC))).body.result
  const before = store.get(STORED, account(ACCOUNT), id)
  for (const [what, change, ...faults] of BAD_WEBHOOKS) {
    // Stored values replace missing ones.
    const response = await call('PUT', `${WEBHOOKS}/${id}`, webhook({ status: 'enabled', ...change }))
    t.equal(response.status, 400, what)
    t.same(pointers(response), faults.toSorted(), what)
  }
  t.match(pointers(await call('PUT', `${WEBHOOKS}/${id}`, webhook())), ['/status'])
  t.equal(store.get(STORED, account(ACCOUNT), id), before)
})

t.test('every destination that is not public gets the same message', async (t) => {
  const { call } = await postureClient(t)
  for (const destination_url of ['https://10.0.0.1/', 'https://unknown.example.net/', 'https://hooks.example.com:22/'])
    t.match((await call('POST', WEBHOOKS, webhook({ destination_url }))).body.errors, [
      {
        code: 10601,
        message: 'the destination address is not allowed; the operator can allow it with egress.allow_cidrs',
        source: { pointer: '/destination_url' },
      },
    ])
})

t.test('good webhooks of every type are accepted', async (t) => {
  const { call } = await postureClient(t)
  const GOOD: [what: string, change: object, keys?: string[]][] = [
    ['none, and no headers', { headers: [] }],
    ['Basic', BASIC, ['authorization']],
    ['Basic, name in capitals', { ...BASIC, headers: [{ key: 'AUTHORIZATION', value: 'Basic x' }] }, ['authorization']],
    [
      'Bearer and more',
      {
        authentication_type: 'Bearer Auth',
        headers: [
          { key: 'X-Team', value: 'a, b; c="d"' },
          { key: 'Authorization', value: 'Bearer abc.def' },
        ],
      },
      ['x-team', 'authorization'],
    ],
    [
      'static headers up to the limits',
      {
        authentication_type: 'Static Headers',
        headers: Array.from({ length: 20 }, (_, at) => ({ key: `X-${at}`, value: 'v'.repeat(4096) })),
      },
      Array.from({ length: 20 }, (_, at) => `x-${at}`),
    ],
    ['HMAC, text', { authentication_type: 'HMAC-Signing', signing_secret: 'my secret, "quoted"' }],
    ['HMAC, base64', { authentication_type: 'HMAC-Signing', signing_secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD' }],
    ['an address', { destination_url: 'https://192.0.2.1:8443/a?b=c#d' }],
    ['an address of IPv6', { destination_url: 'https://[2001:db8::1]/' }],
    ['disabled from the start', { status: 'disabled' }],
  ]
  for (const [what, change, keys] of GOOD) {
    const { status, body } = await call('POST', WEBHOOKS, webhook(change))
    t.equal(status, 200, what)
    t.same(
      body.result.headers,
      keys?.map((key) => ({ key })),
      what,
    )
    t.equal((await call('DELETE', `${WEBHOOKS}/${body.result.id}`)).status, 200, what)
  }
})

const statics = (...headers: { key: string; value?: string | null }[]) => ({
  authentication_type: 'Static Headers',
  headers,
})

t.test('an update replaces everything; a header without a value retains the stored one', async (t) => {
  const { call, opened } = await postureClient(t)
  const first = statics({ key: 'X-One', value: 'one' }, { key: 'X-Two', value: 'two' }, { key: 'X-Three', value: '3' })
  const { id } = (await call('POST', WEBHOOKS, webhook(first))).body.result
  const put = async (change: object) =>
    await call('PUT', `${WEBHOOKS}/${id}`, webhook({ status: 'enabled', ...change }))

  const kept = statics({ key: 'x-ONE' }, { key: 'x-two', value: null }, { key: 'X-Four', value: 'four' })
  t.match((await put(kept)).body.result, {
    version: 2,
    headers: [{ key: 'x-one' }, { key: 'x-two' }, { key: 'x-four' }],
  })
  t.same(opened(id).headers, [
    { key: 'x-one', value: 'one' },
    { key: 'x-two', value: 'two' },
    { key: 'x-four', value: 'four' },
  ])
  t.match(pointers(await put(statics({ key: 'X-Three' }))), ['/headers/0/value'], 'what was left out is gone')
  await put(statics({ key: 'Authorization', value: 'Basic YTpi' }))
  t.equal((await put({ authentication_type: 'Basic Auth', headers: [{ key: 'authorization' }] })).status, 200)
  t.match(pointers(await put({ authentication_type: 'Bearer Auth', headers: [{ key: 'authorization' }] })), [
    '/headers/0/value',
  ])
  t.equal((await put({})).status, 200)
  t.same(opened(id).headers, [])
  t.notOk('headers' in (await call('GET', `${WEBHOOKS}/${id}`)).body.result)
})

t.test('a change of the host names the headers whose stored values the new host gets', async (t) => {
  const { call, opened } = await postureClient(t)
  const first = statics({ key: 'X-One', value: 'one' }, { key: 'X-Two', value: 'two' })
  const { id } = (await call('POST', WEBHOOKS, webhook(first))).body.result
  const put = async (destination_url: string, ...headers: { key: string; value?: string | null }[]) =>
    (await call('PUT', `${WEBHOOKS}/${id}`, webhook({ ...statics(...headers), status: 'enabled', destination_url })))
      .body
  t.same((await put('https://hooks.example.com/other', { key: 'x-one' }, { key: 'x-two' })).messages, [])
  t.match((await put('https://other.example.com/', { key: 'x-one' }, { key: 'x-two', value: 'new' })).messages, [
    { code: 10911, message: /stored values of x-one;/, source: { pointer: '/headers' } },
  ])
  t.same(opened(id).headers, [
    { key: 'x-one', value: 'one' },
    { key: 'x-two', value: 'new' },
  ])
  t.equal((await put('https://other.example.com:8443/', { key: 'x-one' })).messages.length, 1, 'another port')
  t.same((await put('https://hooks.example.com/', { key: 'x-one', value: 'x' })).messages, [])
})

t.test('a signing secret is retained if it is omitted, and signs for a day after it was replaced', async (t) => {
  const { call, opened, clock } = await postureClient(t)
  const hmac = (signing_secret?: string) => ({
    authentication_type: 'HMAC-Signing',
    ...(signing_secret !== undefined && { signing_secret }),
  })
  const { id } = (await call('POST', WEBHOOKS, webhook(hmac('first')))).body.result
  const put = async (change: object) =>
    await call('PUT', `${WEBHOOKS}/${id}`, webhook({ status: 'enabled', ...change }))
  const secrets = () => opened(id).signing_secrets

  t.equal((await put(hmac())).status, 200)
  t.same(secrets(), ['first'])
  await put(hmac('first'))
  t.same(secrets(), ['first'], 'the same one is not a change')
  await put(hmac('second'))
  t.same(secrets(), ['second', 'first'])
  clock.advance(12 * 3_600_000)
  await put(hmac('third'))
  t.same(secrets(), ['third', 'second', 'first'])
  clock.advance(12 * 3_600_000)
  t.same(secrets(), ['third', 'second'], 'the first one has signed for its day')
  await put(hmac())
  t.same(secrets(), ['third', 'second'], 'an update keeps those that still sign')
  clock.advance(12 * 3_600_000)
  t.same(secrets(), ['third'])
  for (let at = 0; at < 15; at += 1) await put(hmac(`more ${at}`))
  t.equal(secrets().length, 11, 'ten former ones at most')

  await put({})
  t.same(secrets(), [], 'another type forgets them')
  t.match(pointers(await put(hmac())), ['/signing_secret'])
})

// `edged secrets rotate` leaves secrets unchanged that no key decrypts: an update with new ones failed with 500.
t.test('a webhook whose secrets no key decrypts is repaired by new ones', async (t) => {
  const { call, store, opened } = await postureClient(t)
  const lost = new Keyring([Buffer.alloc(32)])
  const lose = async (id: string) => {
    const scope = account(ACCOUNT)
    const sealed = { sealed: lost.seal('gone', secretOf(STORED, scope, id)) }
    await store.change(STORED, scope, id, (old) =>
      old?.signing_secret
        ? {
            ...old,
            signing_secret: sealed,
            former_secrets: [{ secret: sealed, until: '2999-01-01T00:00:00Z' }],
          }
        : old && { ...old, headers: old.headers.map(({ key }) => ({ key, value: sealed })) },
    )
  }
  const hmac = (given: object) => webhook({ status: 'enabled', authentication_type: 'HMAC-Signing', ...given })
  const signed = (await call('POST', WEBHOOKS, hmac({ signing_secret: 'old' }))).body.result.id
  await lose(signed)
  t.match(pointers(await call('PUT', `${WEBHOOKS}/${signed}`, hmac({}))), ['/signing_secret'])
  t.equal((await call('PUT', `${WEBHOOKS}/${signed}`, hmac({ signing_secret: 'new' }))).status, 200)
  t.same(opened(signed).signing_secrets, ['new'])

  const fixed = (value?: string) => ({
    ...webhook(statics({ key: 'X-Key', ...(value && { value }) })),
    status: 'enabled',
  })
  const { id } = (await call('POST', WEBHOOKS, fixed('old'))).body.result
  await lose(id)
  t.match(pointers(await call('PUT', `${WEBHOOKS}/${id}`, fixed())), ['/headers/0/value'])
  t.equal((await call('PUT', `${WEBHOOKS}/${id}`, fixed('new'))).status, 200)
  t.same(opened(id).headers, [{ key: 'x-key', value: 'new' }])
})

t.test('a signing secret that can be guessed is accepted with a message', async (t) => {
  const { call } = await postureClient(t)
  const hmac = (signing_secret: string) => webhook({ authentication_type: 'HMAC-Signing', signing_secret })
  const weak = [{ code: 10910, message: /has 3 bytes .* at least 16/, source: { pointer: '/signing_secret' } }]
  const made = await call('POST', WEBHOOKS, hmac('abc'))
  t.match(made, { status: 200, body: { messages: weak } })
  const path = `${WEBHOOKS}/${made.body.result.id}`
  const change = (secret: string) => ({ ...hmac(secret), status: 'enabled' })
  t.match(await call('PUT', path, change('whsec_YWJj')), { status: 200, body: { messages: weak } })
  const { label: _label, ...candidate } = hmac('abc')
  t.match(await call('POST', `${WEBHOOKS}/evaluate`, candidate), { status: 200, body: { messages: weak } })
  for (const secret of ['0123456789abcdef', `whsec_${Buffer.alloc(16).toString('base64')}`])
    t.strictSame((await call('PUT', path, change(secret))).body.messages, [], secret)
})

t.test('a signing secret is generated on request', async (t) => {
  const { call } = await postureClient(t)
  const generate = async () =>
    (await call('POST', `/accounts/${ACCOUNT}/edged/signing_secrets`)).body.result.signing_secret as string
  const [one, two] = [await generate(), await generate()]
  t.match(one, /^whsec_[A-Za-z0-9+/]{32}$/)
  t.not(one, two)
  const made = await call('POST', WEBHOOKS, webhook({ authentication_type: 'HMAC-Signing', signing_secret: one }))
  t.match(made, { status: 200, body: { messages: [] } })
})

t.test('secrets never appear in responses, the store, the audit record or errors', async (t) => {
  const { call, store } = await postureClient(t)
  const SECRET = 'Xyzzy12345'
  const bodies = [
    webhook({ authentication_type: 'HMAC-Signing', signing_secret: SECRET }),
    webhook(statics({ key: 'X-Key', value: SECRET })),
    webhook({ authentication_type: 'Bearer Auth', headers: [{ key: 'Authorization', value: `Bearer ${SECRET}` }] }),
    webhook({ authentication_type: 'Basic Auth', headers: [{ key: 'Authorization', value: `Bearer ${SECRET}` }] }),
    webhook(statics({ key: 'X-Key', value: `${SECRET}\n` })),
    webhook({ authentication_type: 'None', signing_secret: SECRET }),
  ]
  const reported: unknown[] = []
  for (const body of bodies) {
    const made = await call('POST', WEBHOOKS, body)
    reported.push(made.body)
    const id = made.body.result?.id
    if (id === undefined) continue
    reported.push((await call('PUT', `${WEBHOOKS}/${id}`, { ...body, status: 'enabled' })).body)
    reported.push((await call('POST', `${WEBHOOKS}/${id}/evaluate`)).body)
  }
  reported.push((await call('GET', WEBHOOKS)).body, [...store.records()])
  for await (const { entry } of store.audit()) reported.push(entry)
  t.notMatch(JSON.stringify(reported), SECRET)
  t.match(JSON.stringify(reported), 'sealed')
})

t.test('a test delivery is sent to the destination in the body, or to the stored one', async (t) => {
  const made = await postureClient(t)
  const { call, tested } = made
  const { label: _label, ...candidate } = webhook(BASIC)
  const nothing = { edged_response: null }
  t.strictSame((await call('POST', `${WEBHOOKS}/evaluate`, candidate)).body.result, { ...made.outcome, ...nothing })
  const { id } = (await call('POST', WEBHOOKS, webhook({ ...BASIC, status: 'disabled' }))).body.result
  made.outcome = { success: false, status_code: 0, message: 'no connection' }
  t.strictSame((await call('POST', `${WEBHOOKS}/${id}/evaluate`)).body.result, { ...made.outcome, ...nothing })
  const sent = {
    destination_url: 'https://hooks.example.com/in',
    authentication_type: 'Basic Auth',
    headers: [{ key: 'authorization', value: 'Basic YTpi' }],
    signing_secrets: [],
  }
  t.strictSame(tested, [sent, sent])
  t.match(await call('POST', `${WEBHOOKS}/evaluate`, { ...candidate, label: 'x' }), { status: 400 })
  made.refuse('hooks.example.com')
  t.match(await call('POST', `${WEBHOOKS}/${id}/evaluate`), {
    status: 400,
    body: { errors: [{ code: 10601, source: { pointer: '/destination_url' } }] },
  })
  t.equal(tested.length, 2)
})

t.test('a webhook that the daemon disabled shows when and why, until it is enabled again', async (t) => {
  const api = await postureClient(t)
  const { call, store, clock } = api
  const id = await hook(api)
  await disableWebhook(store, { scope, id }, { reason: 'the destination responded with 410 Gone', now: clock.now() })
  const shown = {
    status: 'disabled',
    disabled_at: '2026-11-21T12:00:00.000Z',
    disabled_reason: 'the destination responded with 410 Gone',
  }
  t.match((await call('GET', `${WEBHOOKS}/${id}`)).body.result, shown)
  t.match((await call('GET', WEBHOOKS)).body.result, [shown])
  t.match((await call('PUT', `${WEBHOOKS}/${id}`, webhook({ status: 'disabled', label: 'New' }))).body.result, shown)
  const enabled = (await call('PUT', `${WEBHOOKS}/${id}`, webhook({ status: 'enabled' }))).body.result
  t.notHas(enabled, { disabled_at: '' })
  const disabled = (await call('PUT', `${WEBHOOKS}/${id}`, webhook({ status: 'disabled' }))).body.result
  t.notHas(disabled, { disabled_reason: '' }, 'nor if a client disables it')
})

t.test('the number of webhooks of an account is limited, deleted ones not counted', async (t) => {
  const made = await postureClient(t)
  made.limits.webhooks = 3
  const responses = await Promise.all(
    Array.from({ length: 8 }, async () => await made.call('POST', WEBHOOKS, webhook())),
  )
  t.same(responses.filter(({ status }) => status === 200).length, 3)
  t.match(
    responses.find(({ status }) => status !== 200),
    { status: 403, body: { errors: [{ code: 10603 }] } },
  )
  const { id } = responses.find(({ status }) => status === 200)?.body.result ?? {}
  await made.call('DELETE', `${WEBHOOKS}/${id}`)
  t.equal((await made.call('POST', WEBHOOKS, webhook())).status, 200)
})

t.test('up to a hundred deleted webhooks are stored', async (t) => {
  const { call, clock, store } = await postureClient(t)
  const ids: string[] = []
  for (let at = 0; at < 105; at += 1) {
    clock.advance(1000)
    const { id } = (await call('POST', WEBHOOKS, webhook())).body.result
    ids.push(id)
    await call('DELETE', `${WEBHOOKS}/${id}`)
  }
  t.same(new Set(store.list(STORED).map(({ id }) => id)), new Set(ids.slice(5)))
})

t.test('concurrent updates do not lose each other', async (t) => {
  const { call } = await postureClient(t)
  const { id } = (await call('POST', WEBHOOKS, webhook())).body.result
  await Promise.all(
    Array.from({ length: 20 }, async (_, at) => {
      const { status } = await call('PUT', `${WEBHOOKS}/${id}`, webhook({ label: `n${at}`, status: 'enabled' }))
      t.equal(status, 200)
    }),
  )
  t.equal((await call('GET', `${WEBHOOKS}/${id}`)).body.result.version, 21)
})

t.test('reading requires Zero Trust Read, changing requires Zero Trust Write', async (t) => {
  const token = (name: string, permission: string) => ({
    name,
    token: `${name}-token-0123456789-abcdefghij`,
    permissions: [permission],
    accounts: [ACCOUNT],
    zones: [],
  })
  const tokens = [token('reader', 'Zero Trust Read'), token('writer', 'Zero Trust Write'), token('none', 'Zone Read')]
  const { as } = await postureClient(t, { tokens })
  const [reader, writer, none] = tokens.map(({ token }) => as(token))
  const made = await writer?.('POST', WEBHOOKS, webhook())
  t.match(made, { status: 200 })
  const id = made?.body.result.id
  t.match(await reader?.('GET', `${WEBHOOKS}/${id}`), { status: 200 })
  t.match(await writer?.('GET', WEBHOOKS), { status: 200 })
  t.match(await none?.('GET', WEBHOOKS), { status: 403 })
  for (const [method, path, body] of [
    ['POST', WEBHOOKS, webhook()],
    ['PUT', `${WEBHOOKS}/${id}`, webhook({ status: 'enabled' })],
    ['DELETE', `${WEBHOOKS}/${id}`],
    ['POST', `${WEBHOOKS}/evaluate`, {}],
    ['POST', `${WEBHOOKS}/${id}/evaluate`],
    ['POST', `${WEBHOOKS}/jobs`, {}],
    ['POST', `${WEBHOOKS}/jobs/x/retry`],
    ['POST', `${POSTURE}/policies`, {}],
    ['POST', `${POSTURE}/findings/x/instances/archive`, {}],
    ['POST', INGEST, {}],
  ] as const)
    t.match(await reader?.(method, path, body), { status: 403, body: { errors: [{ code: 10000 }] } }, path)
})
