import t from 'tap'
import { parse } from 'yaml'
import { errorPage, type ErrorFacts } from '../../src/edge/error-page.js'
import type { ErrorPageReason } from '../../src/rules/types.js'

const FACTS: ErrorFacts = { status: 502, rayId: '0123456789012345', at: Date.UTC(2026, 10, 21, 12, 0, 0) }

const FORMS: [accept: string | undefined, type: string][] = [
  [undefined, 'text/html; charset=utf-8'],
  ['', 'text/html; charset=utf-8'],
  ['*/*', 'text/html; charset=utf-8'],
  ['text/*', 'text/html; charset=utf-8'],
  ['image/png', 'text/html; charset=utf-8'],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8', 'text/html; charset=utf-8'],
  ['text/markdown', 'text/markdown; charset=utf-8'],
  ['text/markdown, text/html;q=0.9', 'text/markdown; charset=utf-8'],
  ['text/markdown, text/html, */*', 'text/markdown; charset=utf-8'],
  ['text/html, text/markdown;q=0.5', 'text/html; charset=utf-8'],
  ['text/html;q=0.2, TEXT/Markdown;q=0.5', 'text/markdown; charset=utf-8'],
  ['text/markdown;q=0, */*', 'text/html; charset=utf-8'],
  ['application/json', 'application/json'],
  ['application/*', 'application/json'],
  ['application/problem+json', 'application/problem+json'],
  ['application/json;q=0.3, application/problem+json', 'application/problem+json'],
  ['text/html;q=0, text/*', 'text/markdown; charset=utf-8'],
  ['*/*;q=0.1, application/json;q=0.5', 'application/json'],
  ['application/json;q=0, application/*;q=0.5, */*;q=0.1', 'application/problem+json'],
  [`${'"'.repeat(3)}${','.repeat(2000)}`, 'text/html; charset=utf-8'],
]
for (const [accept, type] of FORMS) {
  t.test(`Accept: ${accept?.slice(0, 60)} gets ${type}`, async (t) => {
    t.equal(errorPage(accept, FACTS).headers['content-type'], type)
  })
}

t.test('the frontmatter of the Markdown form is YAML that keeps types', async (t) => {
  const text = errorPage('text/markdown', { ...FACTS, status: 503, retryAfter: 30 }).body.toString()
  const [, frontMatter = ''] = text.split('---\n')
  t.same(parse(frontMatter), {
    error_name: 'service_unavailable',
    error_category: 'edge',
    http_status: 503,
    ray_id: '0123456789012345',
    timestamp: '2026-11-21T12:00:00.000Z',
    retryable: true,
    retry_after: 30,
    owner_action_required: false,
  })
  t.match(text, '\n# 503 Service Unavailable\n')
})

t.test('the JSON forms carry the same members', async (t) => {
  const json = JSON.parse(errorPage('application/json', FACTS).body.toString()) as unknown
  const problem = JSON.parse(errorPage('application/problem+json', FACTS).body.toString()) as unknown
  t.match(json, { title: 'Bad Gateway', http_status: 502, retryable: true, owner_action_required: true })
  t.match(problem, { type: 'about:blank', title: 'Bad Gateway', status: 502, ray_id: FACTS.rayId, detail: String })
})

t.test('the headers are those of a complete response that must not be stored', async (t) => {
  const page = errorPage('text/html', { ...FACTS, status: 429, retryAfter: 7 })
  t.match(page, { status: 429, headers: { vary: 'accept', 'cache-control': 'no-store', 'retry-after': '7' } })
  t.equal(page.headers['content-length'], String(page.body.length))
})

t.test('a hostile detail stays text in every form', async (t) => {
  const detail = '<script>alert("x")</script>\n---\n# [click](javascript:1) &amp; \u2028 `x`'
  const text = (accept: string) => errorPage(accept, { ...FACTS, detail, rayId: '"><b>' }).body.toString()
  t.notMatch(text('text/html'), '<script>')
  t.notMatch(text('text/html'), '<b>"')
  t.notMatch(text('text/html'), '"><b>')
  t.notMatch(text('text/markdown').split('# 502')[1], /\n---|\n# \[|[^\\]<script/)
  t.equal((JSON.parse(text('application/json')) as { detail: string }).detail, detail)
})

t.test('every status from 400 to 599 has a page', async (t) => {
  for (let status = 400; status < 600; status++)
    t.match(errorPage('application/json', { ...FACTS, status }).body.toString(), `"http_status":${status},`)
})

t.test('the page loads nothing and runs nothing', async (t) => {
  const text = errorPage('text/html', FACTS).body.toString()
  t.notMatch(text, /<script|src=|href=|url\(|@import/)
  t.match(text, 'prefers-color-scheme:dark')
})

const REASONS: [reason: ErrorPageReason, status: number, code: number | undefined][] = [
  ['access_denied', 403, 1020],
  ['rate_limited', 429, 1015],
  ['challenge_required', 403, undefined],
]
for (const [reason, status, code] of REASONS) {
  t.test(`the decision of a rule is shown as ${reason} in every form`, async (t) => {
    const page = (accept: string) => errorPage(accept, { ...FACTS, status, reason }).body.toString()
    const json = JSON.parse(page('application/json')) as Record<string, unknown>
    t.match(json, { error_name: reason, error_category: 'rule', http_status: status })
    t.equal(json.error_code, code)
    t.match(JSON.parse(page('application/problem+json')), { error_name: reason })
    t.match(page('text/markdown'), `error_name: "${reason}"`)
    t.equal(page('text/html').includes(`<dd>${code}</dd>`), code !== undefined)
  })
}
