import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { site } from '../markdown/site.js'

const HTML = { 'content-type': 'text/html' }
const PLAIN = { accept: '*/*' }

/** An origin with one page, and files with the names of its Markdown. */
const origin: RequestListener = ({ url }, response) => {
  const files: Record<string, [type: string, text: string]> = {
    '/': ['text/html', '<h1>Front'],
    '/page': ['text/html', '<h1>Page'],
    '/page.md': ['text/markdown', 'not served'],
    '/only.md': ['text/markdown', '# A file of the origin'],
    '/.well-known/own.md': ['text/markdown', '# Well known'],
    '/catalog.json': ['application/json', '{"linkset":[]}'],
    '/skills': ['text/plain', '{"skills":[]}'],
  }
  const file = files[url!]
  if (file) response.writeHead(200, { 'content-type': file[0], etag: '"x"' }).end(file[1])
  else response.writeHead(404, HTML).end('<p>Not here')
}

t.test('the card of the MCP server', async (t) => {
  const { get } = await site(t, origin, { agents: 'mcp: true' })
  for (const path of ['/.well-known/mcp/server-card.json', '/.well-known/mcp/server-card']) {
    const { status, headers, body } = await get(path, PLAIN)
    t.equal(status, 200)
    t.match(headers, {
      'content-type': 'application/json',
      'access-control-allow-origin': '*',
      'cache-control': 'max-age=3600',
      etag: /^W\//,
    })
    t.match(JSON.parse(body.toString()), {
      $schema: 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json',
      name: 'test.example/site',
      version: '1.2.3',
      description: String,
      remotes: [{ type: 'streamable-http', url: 'http://example.test/.well-known/mcp' }],
    })
    t.match(await get(path, { ...PLAIN, headers: { 'if-none-match': headers.etag! } }), { status: 304 })
    const head = await get(path, { ...PLAIN, method: 'HEAD' })
    t.match(head, { status: 200, headers: { 'content-length': String(body.length) } })
    t.match(await get(path, { ...PLAIN, method: 'POST' }), { status: 405, headers: { allow: 'GET, HEAD' } })
  }
  t.match((await get('/', PLAIN)).headers['link'], '</.well-known/mcp/server-card.json>; rel="service-desc"')
})

t.test('the skill that edged writes, with its digest', async (t) => {
  const { get } = await site(t, origin, { agents: 'skills: true', markdown: 'md_addresses: true, llms_txt: sitemap' })
  const { headers, body } = await get('/.well-known/agent-skills/index.json', PLAIN)
  t.equal(headers['content-type'], 'application/json')
  const index = JSON.parse(body.toString()) as { $schema: string; skills: Record<string, string>[] }
  t.equal(index.$schema, 'https://schemas.agentskills.io/discovery/0.2.0/schema.json')
  const [skill] = index.skills
  t.match(skill, { name: /^[a-z-]{1,64}$/, type: 'skill-md', description: String, digest: /^sha256:[0-9a-f]{64}$/ })
  const file = await get(new URL(skill!['url']!).pathname, PLAIN)
  t.equal(file.headers['content-type'], 'text/markdown; charset=utf-8')
  t.equal(skill!['digest'], `sha256:${createHash('sha256').update(file.body).digest('hex')}`)
  const text = file.body.toString()
  t.match(text, /^---\nname: read-this-site\ndescription: .+\n---\n/)
  for (const part of ['http://example.test/llms.txt', 'Accept: text/markdown', '/index.md']) t.match(text, part)
  t.notMatch(text, 'MCP')
  t.equal((await get('/.well-known/agent-skills/other/SKILL.md', PLAIN)).status, 404)
})

t.test('files of the origin and of this machine', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'edged-site-files-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'catalog.json')
  writeFileSync(file, '{"linkset":[1]}')
  const { get } = await site(t, origin, { agents: `api_catalog: 'file:${file}', skills: /skills` })
  const path = '/.well-known/api-catalog'
  for (const method of ['GET', 'HEAD']) {
    const { status, headers, body } = await get(path, { ...PLAIN, method })
    t.equal(status, 200)
    t.match(headers, {
      'content-type': 'application/linkset+json',
      link: `<${path}>; rel="api-catalog"`,
      'access-control-allow-origin': '*',
    })
    t.equal(body.toString(), method === 'GET' ? '{"linkset":[1]}' : '')
  }
  writeFileSync(file, '{"linkset":[1,2]}')
  t.equal((await get(path, PLAIN)).body.toString(), '{"linkset":[1,2]}', 'a changed file is read again')
  rmSync(file)
  t.equal((await get(path, PLAIN)).status, 404)
  const skills = await get('/.well-known/agent-skills/index.json', PLAIN)
  t.match(skills, { status: 200, headers: { 'content-type': 'application/json', etag: '"x"' } })
  t.equal(skills.body.toString(), '{"skills":[]}')
  t.match((await get('/', PLAIN)).headers['link'], `<${path}>; rel="api-catalog"`)
  const other = await site(t, origin, { agents: 'api_catalog: /catalog.json' })
  t.match(await other.get(path, PLAIN), {
    status: 200,
    headers: { 'content-type': 'application/json', link: /api-catalog/ },
  })
  t.equal((await other.get('/.well-known/agent-skills/index.json', PLAIN)).status, 404)
})

t.test('an address of Markdown without a page is a file of the origin', async (t) => {
  for (const cache of ['off', 'everything']) {
    const { get } = await site(t, origin, { markdown: 'md_addresses: true', cache })
    for (let i = 0; i < 2; i++) {
      t.equal((await get('/page.md', PLAIN)).body.toString(), '# Page\n', 'a page wins')
      for (const accept of ['*/*', 'text/markdown']) {
        const own = await get('/only.md', { accept })
        t.match(own, { status: 200, headers: { 'content-type': 'text/markdown' } })
        t.equal(own.body.toString(), '# A file of the origin')
        t.equal((await get('/.well-known/own.md', { accept })).body.toString(), '# Well known')
      }
      const none = await get('/none.md', PLAIN)
      t.match(none, { status: 404, headers: { 'content-type': 'text/markdown; charset=utf-8' } })
      t.equal(none.body.toString(), 'Not here\n')
      const head = await get('/only.md', { ...PLAIN, method: 'HEAD' })
      t.match(head, { status: 200, headers: { 'content-type': 'text/markdown' } })
    }
  }
})
