import t, { type Test } from 'tap'
import { ACCOUNT, client, ZONE } from '../client.js'

const ENTRY = `/zones/${ZONE}/rulesets/phases/http_request_firewall_custom/entrypoint`
const rule = (path: string) => ({ action: 'block', expression: `http.request.uri.path eq "${path}"` })

/** The API with an entry point that has one rule, at its first version. */
async function entryPoint(t: Test) {
  const { call } = await client(t)
  const made = await call('PUT', ENTRY, { rules: [rule('/1')] })
  const { id, rules } = made.body.result
  return {
    call,
    made,
    path: `/zones/${ZONE}/rulesets/${id}`,
    ruleId: rules[0].id,
    etag: made.headers.get('etag') ?? '',
  }
}

t.test('a ruleset has an ETag that changes with each change', async (t) => {
  const { call, made, path, ruleId, etag } = await entryPoint(t)
  t.match(etag, /^"[0-9a-f]{32}-1"$/)
  for (const one of [path, ENTRY]) t.equal((await call('GET', one)).headers.get('etag'), etag)
  const changed = await call('PATCH', `${path}/rules/${ruleId}`, { description: 'new' })
  t.match(changed.headers.get('etag'), /-2"$/)
  t.equal((await call('GET', ENTRY)).headers.get('etag'), changed.headers.get('etag'))
  t.notOk((await call('PUT', `${ENTRY}?dry_run=true`, { rules: [] })).headers.get('etag'))
  t.equal(made.status, 200)
})

t.test('a write for another state than the current one is rejected with 412 and changes nothing', async (t) => {
  const { call, path, ruleId, etag } = await entryPoint(t)
  await call('POST', `${path}/rules`, rule('/2'))
  const current = await call('GET', path)
  const stale = { 'if-match': etag }
  for (const [method, to, body] of [
    ['PUT', path, { rules: [] }],
    ['PUT', ENTRY, { rules: [] }],
    ['PUT', `${ENTRY}?dry_run=true`, { rules: [] }],
    ['POST', `${path}/rules`, rule('/3')],
    ['PATCH', `${path}/rules/${ruleId}`, { description: 'x' }],
    ['PATCH', `${path}/rules/${ruleId}`, {}],
    ['DELETE', `${path}/rules/${ruleId}`, undefined],
    ['DELETE', `${path}/versions/1`, undefined],
    ['DELETE', path, undefined],
  ] as const)
    t.match(
      await call(method, to, body, stale),
      { status: 412, body: { errors: [{ code: 20017 }] } },
      `${method} ${to}`,
    )
  t.match(await call('PUT', ENTRY, { rules: [] }, { 'if-none-match': '*' }), { status: 412 }, 'it exists')
  t.match(await call('PUT', ENTRY, { rules: 1 }, stale), { status: 400 }, 'an invalid body comes first')
  t.strictSame((await call('GET', path)).body.result, current.body.result)
})

t.test('a write for the current state is made', async (t) => {
  const { call, path, etag } = await entryPoint(t)
  const second = await call('POST', `${path}/rules`, rule('/2'), { 'if-match': etag })
  t.equal(second.status, 200)
  const now = second.headers.get('etag') ?? ''
  t.match(await call('PUT', ENTRY, { rules: [] }, { 'if-match': `"other", W/${now}` }), { status: 200 })
  t.match(await call('PUT', ENTRY, { rules: [] }, { 'if-match': '*', 'if-none-match': etag }), { status: 200 })
  t.match(await call('DELETE', path, undefined, { 'if-match': '*' }), { status: 204 })
  t.match(await call('PUT', ENTRY, { rules: [] }, { 'if-match': '*' }), { status: 412 }, 'without a ruleset to replace')
  t.match(await call('PUT', ENTRY, { rules: [] }, { 'if-match': etag }), { status: 412 })
  t.match(await call('PUT', ENTRY, { rules: [] }, { 'if-none-match': '*' }), { status: 200 })
  const body = { name: 'n', kind: 'custom', phase: 'http_request_firewall_custom' }
  t.match(await call('POST', `/accounts/${ACCOUNT}/rulesets`, body, { 'if-match': '*' }), { status: 412 })
  t.match((await call('POST', `/accounts/${ACCOUNT}/rulesets`, body)).headers.get('etag'), /-1"$/)
})

t.test('of two writes for the same state only one is made', async (t) => {
  const { call, etag } = await entryPoint(t)
  const writes = ['/a', '/b', '/c'].map((path) => call('PUT', ENTRY, { rules: [rule(path)] }, { 'if-match': etag }))
  const statuses = (await Promise.all(writes)).map(({ status }) => status)
  t.strictSame(
    statuses.sort((a, b) => a - b),
    [200, 412, 412],
  )
})
