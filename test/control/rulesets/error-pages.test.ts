import { createServer } from 'node:http'
import { Readable } from 'node:stream'
import Cloudflare from 'cloudflare'
import t, { type Test } from 'tap'
import { fetchPage } from '../../../src/egress/fetch-page.js'
import { openEgress } from '../../helpers/egress.js'
import { ACCOUNT, ADMIN, client, OTHER_ACCOUNT, ZONE } from '../client.js'

function* endless(): Generator<Buffer> {
  for (;;) yield Buffer.alloc(65_536, 'a')
}

const ASSETS = `/zones/${ZONE}/custom_pages/assets`

/** A web server with pages, and the API that fetches them through the guarded egress. */
async function pages(t: Test) {
  const served = { text: '<h1>Sorry, ::CLIENT_IP::</h1>', asked: 0 }
  const server = createServer((req, res) => {
    served.asked += 1
    if (req.url === '/moved') res.writeHead(301, { location: '/sorry.html' }).end()
    else if (req.url === '/large') res.end(Buffer.alloc(1_500_001, 'a'))
    else if (req.url === '/endless')
      Readable.from(endless())
        .on('error', () => undefined)
        .pipe(res)
    else if (req.url === '/empty') res.end()
    else if (req.url === '/image') res.writeHead(200, { 'content-type': 'image/png' }).end('x')
    else if (req.url === '/broken') req.socket.destroy()
    else if (req.url === '/latin')
      res.writeHead(503, { 'content-type': 'text/plain; charset=iso-8859-1' }).end(Buffer.from([0xe9]))
    else res.writeHead(200, { 'content-type': 'text/html' }).end(served.text)
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const egress = await openEgress([server])
  const origin = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  const api = await client(t, {
    fetchPage: async (url, maxBytes) =>
      await fetchPage(egress, url, { maxBytes, timeoutMs: 10_000, userAgent: 'edged/test' }),
  })
  return { ...api, origin, served }
}

t.test('a page with relative addresses of files is stored with a message', async (t) => {
  const { call, origin, served } = await pages(t)
  const url = `${origin}/sorry.html`
  served.text =
    '<link rel=stylesheet href="/a.css"><IMG alt="x" src=b.png><img src="b.png"><script src=\'c.js\'></script><a href="/">Home</a>'
  const at = (count: number, first: string) => {
    const message = new RegExp(`\\(${count}\\), such as "${first}"`)
    return { status: 200, body: { messages: [{ code: 10903, message, source: { pointer: '/url' } }] } }
  }
  t.match(await call('POST', ASSETS, { name: 'sorry', url }), at(3, '/a.css'))
  served.text =
    '<img src="data:image/png;base64,AA=="><img src="https://a.test/b.png"><img src=//a.test/c><use href="#d">'
  t.match(await call('PUT', `${ASSETS}/sorry`, { url }), { status: 200, body: { messages: [] } })
  served.text = '<style>@import "x.css"</style><img src="e.png">::RAY_ID::'
  t.match(await call('PUT', `/zones/${ZONE}/custom_pages/waf_block`, { state: 'customized', url }), at(1, 'e.png'))
})

t.test('an asset is created, listed, read, fetched again and deleted', async (t) => {
  const { call, origin, served } = await pages(t)
  const url = `${origin}/sorry.html`
  const made = await call('POST', ASSETS, { name: '500_error_template', description: 'Standard', url })
  t.match(made, {
    status: 200,
    body: { success: true, result: { name: '500_error_template', description: 'Standard', url, size_bytes: 29 } },
  })
  t.match(made.body.result.last_updated, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
  t.strictSame(Object.keys(made.body.result).sort(), ['description', 'last_updated', 'name', 'size_bytes', 'url'])
  t.match(await call('GET', ASSETS), {
    body: {
      result: [made.body.result],
      result_info: { count: 1, page: 1, per_page: 20, total_count: 1, total_pages: 1 },
    },
  })
  t.match(await call('GET', `${ASSETS}?page=2`), { body: { result: [] } })
  t.match(await call('GET', `${ASSETS}/500_error_template`), { body: { result: made.body.result } })
  t.match(
    await call('GET', `/accounts/${ACCOUNT}/custom_pages/assets/500_error_template`),
    { status: 404 },
    'another scope',
  )

  served.text = 'longer than the page before it was'
  t.match(await call('PUT', `${ASSETS}/500_error_template`, { description: 'New' }), {
    body: { result: { description: 'New', size_bytes: 29 } },
  })
  t.equal(served.asked, 1, 'without a URL nothing is fetched')
  t.match(await call('PUT', `${ASSETS}/500_error_template`, { description: 'New', url }), {
    body: { result: { size_bytes: 34 } },
  })
  t.match(await call('PUT', `${ASSETS}/500_error_template`, { name: 'other' }), {
    status: 400,
    body: { errors: [{ source: { pointer: '/name' } }] },
  })
  t.match(await call('DELETE', `${ASSETS}/500_error_template`), { status: 204, body: undefined })
  t.match(await call('DELETE', `${ASSETS}/500_error_template`), { status: 404, body: { errors: [{ code: 20013 }] } })
})

t.test('what cannot be stored is rejected with a pointer, and stores nothing', async (t) => {
  const { call, origin } = await pages(t)
  const url = `${origin}/a`
  for (const [body, pointer, message] of [
    [{ name: 'a-b', url }, '/name', /letters/],
    [{ name: '', url }, '/name', /letters/],
    [{ name: 'a'.repeat(201), url }, '/name', /letters/],
    [{ url }, '/name', /./],
    [{ name: 'a' }, '/url', /./],
    [{ name: 'a', url, more: 1 }, '/more', /./],
    [{ name: 'a', url: 'ftp://example.com/a' }, '/url', /http/],
    [{ name: 'a', url: 'https://user:pass@example.com/' }, '/url', /credentials/],
    [{ name: 'a', url: 'http://127.0.0.1:9/' }, '/url', /not allowed/],
    [{ name: 'a', url: 'http://169.254.169.254/latest' }, '/url', /not allowed/],
    [{ name: 'a', url: `${origin}/moved` }, '/url', /redirect/],
    [{ name: 'a', url: `${origin}/large` }, '/url', /1500000/],
    [{ name: 'a', url: `${origin}/endless` }, '/url', /1500000/],
    [{ name: 'a', url: `${origin}/empty` }, '/url', /empty/],
    [{ name: 'a', url: `${origin}/image` }, '/url', /text/],
    [{ name: 'a', url: `${origin}/broken` }, '/url', /could not be fetched/],
  ] as const)
    t.match(
      await call('POST', ASSETS, body),
      { status: 400, body: { errors: [{ message, source: { pointer } }] } },
      pointer,
    )
  t.match(await call('GET', ASSETS), { body: { result: [] } })
})

t.test('a page with any status and charset is stored; a name only once per scope', async (t) => {
  const { call, origin } = await pages(t)
  t.match(await call('POST', ASSETS, { name: 'latin', url: `${origin}/latin` }), {
    body: { result: { size_bytes: 2 } },
  })
  t.match(await call('POST', ASSETS, { name: 'latin', url: `${origin}/latin` }), {
    status: 409,
    body: { errors: [{ code: 20014 }] },
  })
  t.match(await call('POST', `/accounts/${ACCOUNT}/custom_pages/assets`, { name: 'latin', url: `${origin}/latin` }), {
    status: 200,
  })
  t.match(await call('GET', `/accounts/${OTHER_ACCOUNT}/custom_pages/assets`), { body: { result: [] } })
})

t.test('a scope has a maximum of pages', async (t) => {
  const { call, origin } = await pages(t)
  const create = (i: number) => call('POST', ASSETS, { name: `page_${i}`, url: `${origin}/a` })
  const statuses = await Promise.all(Array.from({ length: 14 }, (_, i) => create(i)))
  const more = await Promise.all(Array.from({ length: 14 }, (_, i) => create(i + 14)))
  const all = [...statuses, ...more].map(({ status }) => status)
  t.strictSame([all.filter((s) => s === 200).length, all.filter((s) => s === 403).length], [25, 3])
})

t.test('a rule that names no stored page is stored, with a message', async (t) => {
  const { call, origin } = await pages(t)
  const rules = [{ action: 'serve_error', expression: 'true', action_parameters: { asset_name: 'sorry' } }]
  const path = `/zones/${ZONE}/rulesets/phases/http_custom_errors/entrypoint`
  t.match(await call('PUT', path, { rules }), {
    status: 200,
    body: { messages: [{ code: 10900, source: { pointer: '/rules/0/action_parameters/asset_name' } }] },
  })
  await call('POST', ASSETS, { name: 'sorry', url: `${origin}/a` })
  t.match(await call('PUT', path, { rules }), { status: 200, body: { messages: [] } })
})

t.test('the pages of the proxy are replaced and restored', async (t) => {
  const { call, origin, served } = await pages(t)
  const path = `/zones/${ZONE}/custom_pages`
  const list = await call('GET', path)
  t.equal(list.body.result.length, 10)
  const unset = {
    id: 'ratelimit_block',
    url: null,
    state: 'default',
    required_tokens: [],
    preview_target: 'block:rate-limit',
  }
  t.match(await call('GET', `${path}/ratelimit_block`), { body: { result: unset } })
  const url = `${origin}/limit.html`
  t.match(await call('PUT', `${path}/ratelimit_block`, { state: 'customized', url }), {
    status: 200,
    body: { messages: [], result: { id: 'ratelimit_block', url, state: 'customized' } },
  })
  t.match(await call('GET', `${path}/ratelimit_block`), { body: { result: { url, state: 'customized' } } })
  t.match(await call('PUT', `${path}/ratelimit_block`, { state: 'default', url: null }), { body: { result: unset } })

  t.match(await call('PUT', `${path}/500_errors`, { state: 'customized', url }), {
    status: 400,
    body: { errors: [{ message: /::CLOUDFLARE_ERROR_500S_BOX::/, source: { pointer: '/url' } }] },
  })
  t.match(await call('PUT', `${path}/500_errors`, { state: 'customized' }), {
    status: 400,
    body: { errors: [{ source: { pointer: '/url' } }] },
  })
  t.match(await call('PUT', `${path}/500_errors`, { state: 'on', url }), {
    status: 400,
    body: { errors: [{ source: { pointer: '/state' } }] },
  })
  t.match(await call('GET', `${path}/toString`), { status: 404 })
  served.text = '::CAPTCHA_BOX::'
  t.match(await call('PUT', `${path}/managed_challenge`, { state: 'customized', url }), {
    body: { messages: [{ code: 10900, source: { pointer: '/state' } }] },
  })
})

t.test('the official client manages both', async (t) => {
  const { origin, url } = await pages(t)
  const sdk = new Cloudflare({ apiToken: ADMIN, baseURL: url })
  const page = { name: 'my_page', description: '', url: `${origin}/a` }
  await sdk.customPages.assets.create({ zone_id: ZONE, ...page })
  const names = []
  for await (const { name } of sdk.customPages.assets.list({ zone_id: ZONE })) names.push(name)
  t.strictSame(names, ['my_page'])
  await sdk.customPages.assets.update('my_page', { zone_id: ZONE, ...page })
  t.match(await sdk.customPages.assets.get('my_page', { zone_id: ZONE }), { name: 'my_page' })
  await sdk.customPages.assets.delete('my_page', { zone_id: ZONE })
  const own = await sdk.customPages.update('waf_block', { account_id: ACCOUNT, state: 'customized', url: page.url })
  t.match(own, { state: 'customized' })
  const ids = []
  for await (const { id } of sdk.customPages.list({ account_id: ACCOUNT })) ids.push(id)
  t.equal(ids.length, 10)
})
