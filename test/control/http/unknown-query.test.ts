import t from 'tap'
import { ACCOUNT, client, FREE_ZONE, ZONE } from '../client.js'
import { postureClient, JOBS, FINDING } from '../webhooks/helper.js'
import { workersClient } from '../workers/helper.js'

const named = (...names: string[]) =>
  names.map((name) => ({ code: 10904, message: /^ignored: unknown query parameter/, source: { pointer: `/${name}` } }))

t.test('reads of public paths ignore unknown query parameters and name them', async (t) => {
  const { call } = await client(t)
  t.match(await call('GET', '/zones?per_page=1&nosuch=1&a~b=2&nosuch=3'), {
    status: 200,
    body: { result: { length: 1 }, messages: named('nosuch', 'a~0b') },
  })
  for (const path of [
    `/zones/${ZONE}`,
    `/zones/${ZONE}/settings`,
    '/user',
    '/user/tokens/verify',
    `/zones/${ZONE}/rulesets`,
  ]) {
    const { status, body } = await call('GET', `${path}?order=name&direction_=asc`)
    t.equal(status, 200, path)
    t.match(
      body.messages.filter(({ code }: { code: number }) => code === 10904),
      named('order', 'direction_'),
      path,
    )
  }
  t.match(await call('GET', `/zones?nam=${FREE_ZONE}`), {
    body: { messages: [{ message: 'ignored: unknown query parameter; did you mean name?' }] },
  })
  t.strictSame((await call('GET', '/zones')).body.messages, [])
})

t.test('a known parameter with a wrong value is refused although unknown ones are ignored', async (t) => {
  const { call } = await client(t)
  const { status, body } = await call('GET', '/zones?per_page=many&nosuch=1')
  t.equal(status, 400)
  t.match(body.errors, [{ code: 10002, source: { pointer: '/per_page' } }])
  t.equal(body.errors.length, 1)
})

t.test('no more than 20 unknown parameters are named', async (t) => {
  const { call } = await client(t)
  const names = Array.from({ length: 1000 }, (_, n) => `p${n}=1`)
  t.equal((await call('GET', `/zones?${names.join('&')}`)).body.messages.length, 20)
})

t.test('writes and paths of edged alone refuse unknown query parameters', async (t) => {
  const { call } = await postureClient(t)
  const refused = { status: 400, body: { errors: [{ code: 10002, source: { pointer: '/nosuch' } }] } }
  t.match(await call('GET', `${JOBS}?nosuch=1`), refused)
  t.match(await call('GET', `/accounts/${ACCOUNT}/edged/datasets?nosuch=1`), refused)
  t.match(await call('PATCH', `/zones/${ZONE}/settings/content_converter?nosuch=1`, { value: 'on' }), refused)
  t.match(await call('POST', `/zones/${ZONE}/purge_cache?nosuch=1`, { purge_everything: true }), refused)
  t.match(await call('GET', `${FINDING}?nosuch=1`), { status: 200, body: { messages: named('nosuch') } })
})

t.test('writes of Workers accept the parameters of official clients, and no others', async (t) => {
  const { call, script } = await workersClient(t)
  await script('hello')
  const scripts = `/accounts/${ACCOUNT}/workers/scripts/hello`
  await call('PUT', `${scripts}/secrets`, { name: 'KEY', text: 'x', type: 'secret_text' })
  t.match(await call('DELETE', `${scripts}/secrets/KEY?excludeScript=true`), {
    status: 400,
    body: { errors: [{ source: { pointer: '/excludeScript' } }] },
  })
  t.match(await call('DELETE', `${scripts}/secrets/KEY?url_encoded=true`), { status: 200 })
})
