/** The documentation that the control listener serves: pages, links, the reference of the API, and the site in a browser. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { chromium, type Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { accessible, CHROMIUM, NO_BROWSER } from './dashboard.js'
import { configuration, startDaemon, unbuilt } from './daemon.js'

interface Operation {
  readonly operationId: string
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> }
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { schema: object }>> }>>
}
interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: object
}

/** Address of the control listener of the daemon that all tests use. */
const base = unbuilt ? '' : (await startDaemon(t, configuration('demo'))).control.replace(/\/client\/v4$/, '')

const idsOf = (html: string): string[] => [...html.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id)

/** Reads the site from its start page on. Returns the pages by address. */
async function crawl(): Promise<Map<string, string>> {
  const pages = new Map<string, string>()
  const queue = ['/docs/', '/docs/404.html']
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    if (pages.has(path)) continue
    const response = await fetch(base + path)
    if (response.status !== 200) throw new Error(`${path}: ${response.status}`)
    const html = await response.text()
    pages.set(path, html)
    for (const [, href = ''] of html.matchAll(/ href="([^"]+\.html|\/docs\/)(?:#[^"]*)?"/g))
      queue.push(new URL(href, base + path).pathname)
  }
  return pages
}

t.test('every link of the site leads to a page and to an id on it', { skip: unbuilt }, async (t) => {
  const pages = await crawl()
  t.ok(pages.size > 28, `${pages.size} pages`)
  const known = new Set<string>()
  for (const [path, html] of pages) {
    const ids = idsOf(html)
    t.same(ids.length, new Set(ids).size, `${path}: ids are unique`)
    t.notMatch(html, / style="|<style|<script>| on[a-z]+="/, `${path}: nothing that the policy forbids`)
    for (const [, href = ''] of html.matchAll(/ (?:href|src)="([^"]+)"/g)) {
      const url = new URL(href.replaceAll('&amp;', '&'), base + path)
      if (url.origin !== base) continue
      const page = pages.get(url.pathname)
      if (page === undefined && !known.has(url.pathname)) {
        t.equal((await fetch(url)).status, 200, `${path}: ${href}`)
        known.add(url.pathname)
      }
      const id = decodeURIComponent(url.hash.slice(1))
      if (page !== undefined && id !== '') t.ok(page.includes(` id="${id}"`), `${path}: ${href}`)
    }
  }
})

const unescaped = (html: string): string =>
  html
    .replaceAll(/<[^>]+>/g, '')
    .replaceAll(/&(lt|gt|quot|amp);/g, (_all, name: string) => ({ lt: '<', gt: '>', quot: '"', amp: '&' })[name]!)

/** Returns the blocks of code of an endpoint: the line of curl, then the response. */
const blocksOf = (article: string): string[] =>
  [...article.matchAll(/<pre[^>]*>(.*?)<\/pre>/gs)].map(([, html = '']) => unescaped(html).trim())

t.test('the reference has every operation, with permission, curl and valid examples', { skip: unbuilt }, async (t) => {
  const { paths, components } = (await (await fetch(`${base}/openapi.json`)).json()) as OpenApi
  const ajv = new Ajv2020({ strict: false })
  formats.default(ajv)
  const issues = (schema: object, value: unknown): unknown => {
    const validate = ajv.compile({ ...schema, components })
    return validate(value) ? [] : validate.errors
  }
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  const files = (await (await fetch(`${base}/docs/operations.json`)).json()) as Record<string, string>
  const byId = new Map(operations.map((operation) => [operation.operationId, operation]))
  t.same(Object.keys(files).sort(), [...byId.keys()].sort(), 'each operation has a page')
  let bodies = 0
  const names = [...new Set(Object.values(files))]
  const pages = await Promise.all(names.map(async (name) => await (await fetch(`${base}/docs/${name}`)).text()))
  for (const html of pages) {
    for (const article of html.split('<article').slice(1)) {
      const id = /<h3 id="([^"]+)"/.exec(article)?.[1] ?? ''
      const { requestBody, responses } = byId.get(id)!
      t.match(article, /Permission: <b>|Needs (?:no|a valid) token/, `${id} says who may call it`)
      const [curl = '', response] = blocksOf(article)
      t.match(curl, /^curl .*"\$API\//, `${id} has a line of curl`)
      const [, body] = / --json '(.*)'$/s.exec(curl) ?? []
      const input = requestBody?.content['application/json']?.schema
      if (body !== undefined && input) {
        bodies += 1
        t.same(issues(input, JSON.parse(body.replaceAll(`'\\''`, "'"))), [], `${id}: the body is accepted`)
      }
      const [, success] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? []
      const output = success?.content?.['application/json']?.schema
      if (response?.startsWith('{') && output) t.same(issues(output, JSON.parse(response)), [], `${id}: the response`)
    }
  }
  t.ok(bodies > 80, `${bodies} bodies`)
})

const SCREENS = {
  phone: { width: 390, height: 844 },
  laptop: { width: 1280, height: 800 },
  wide: { width: 1440, height: 900 },
}

/** Opens a browser on the site. Errors in scripts and of the policy fail the test. */
async function browse(t: Test): Promise<Page> {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
  t.teardown(() => browser.close())
  const context = await browser.newContext({ viewport: SCREENS.laptop })
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: base })
  const page = await context.newPage()
  page.on('pageerror', (error) => t.fail(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') t.fail(`${page.url()}: ${message.text()}`)
  })
  return page
}

/** Types into the search. Returns the first result. */
async function searchFor(page: Page, words: string): Promise<string> {
  await page.getByRole('combobox').fill(words)
  const first = page.getByRole('option', { selected: true })
  await first.waitFor()
  return (await first.getAttribute('href')) ?? ''
}

t.test('the search finds sections and endpoints, by keyboard', { skip: NO_BROWSER }, async (t) => {
  const page = await browse(t)
  await page.goto(`${base}/docs/`)
  await page.keyboard.press('/')
  t.equal(await searchFor(page, 'backup and restore'), '/docs/operations.html#backup-and-restore')
  t.match(await searchFor(page, 'several machnes'), /#several-machines$/, 'with a slip')
  t.equal(await searchFor(page, 'create a zone'), '/docs/api-zones.html#post_zones')
  t.match(await searchFor(page, 'wrangl'), /workers/, 'from the beginning of a word')
  await page.getByRole('combobox').fill('qqqqqqqq')
  await page.getByText('Nothing found for').waitFor()
  await accessible(t, page, 'nothing found')
  await searchFor(page, 'log push')
  const [first, second] = await page.getByRole('option').all()
  await page.keyboard.press('ArrowDown')
  t.equal(await second!.getAttribute('aria-selected'), 'true')
  await page.keyboard.press('ArrowUp')
  t.equal(await first!.getAttribute('aria-selected'), 'true')
  await accessible(t, page, 'results')
  await searchFor(page, 'where logs can go')
  await page.keyboard.press('Enter')
  await page.waitForURL(`${base}/docs/logpush.html#where-logs-can-go`)
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('combobox').waitFor({ state: 'hidden' })
})

t.test('a page has its place, copies its code and remembers the theme', { skip: NO_BROWSER }, async (t) => {
  const page = await browse(t)
  await page.goto(`${base}/docs/api.html`)
  const block = page.locator('.code').first()
  await block.hover()
  await block.getByRole('button', { name: 'Copy' }).click()
  await block.getByRole('button', { name: 'Copied' }).waitFor()
  t.match(await page.evaluate('navigator.clipboard.readText()'), /^npx edged token create -c edged\.yaml/)
  t.ok((await page.locator('pre .t-comment').count()) > 0, 'code has colours')

  await page.goto(`${base}/docs/operations.html#alarms`)
  await page.locator('aside a[aria-current="location"]', { hasText: 'Alarms' }).waitFor()
  t.equal(await page.locator('#menu [aria-current="page"]').textContent(), 'Operations')

  const background = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
  await page.getByRole('button', { name: 'Theme: system' }).click()
  t.equal(await background(), 'rgb(255, 255, 255)')
  await page.getByRole('button', { name: 'Theme: light' }).click()
  t.equal(await background(), 'rgb(15, 17, 22)')
  await page.reload()
  t.equal(await background(), 'rgb(15, 17, 22)', 'after a reload too')

  await page.goto(`${base}/docs/#get_zones_zone_id_logpush_jobs`)
  await page.waitForURL(`${base}/docs/api-logs.html#get_zones_zone_id_logpush_jobs`)
  t.pass('an address of the old manual leads to its operation')
})

t.test('an unknown address has a page with the search', { skip: NO_BROWSER }, async (t) => {
  const plain = await fetch(`${base}/docs/a/b`)
  t.match([plain.status, plain.headers.get('content-type')], [404, /^text\/plain/], 'other clients get a line of text')
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
  t.teardown(() => browser.close())
  const page = await browser.newPage()
  const response = await page.goto(`${base}/docs/a/b`)
  t.equal(response?.status(), 404)
  await page.getByRole('heading', { name: 'This page does not exist' }).waitFor()
  await accessible(t, page, 'unknown address')
  await page.getByRole('main').getByRole('button').click()
  t.equal(await searchFor(page, 'getting started'), '/docs/getting-started.html')
})

t.test('pages fit the window of a phone, with the menu as a drawer', { skip: NO_BROWSER }, async (t) => {
  const page = await browse(t)
  const paths = [...(await crawl()).keys()]
  await page.setViewportSize(SCREENS.phone)
  for (const path of paths) {
    await page.goto(base + path)
    t.ok(await page.evaluate(`document.documentElement.scrollWidth <= ${SCREENS.phone.width}`), path)
  }
  await page.goto(`${base}/docs/rules.html`)
  const menu = page.getByRole('navigation', { name: 'Documentation' })
  t.notOk(await menu.isVisible())
  await page.getByRole('button', { name: 'Menu' }).click()
  t.ok(await menu.isVisible())
  await accessible(t, page, 'drawer')
  await page.keyboard.press('Escape')
  t.notOk(await menu.isVisible())
  t.equal(await page.evaluate('document.activeElement.getAttribute("aria-label")'), 'Menu', 'the focus is back')
})

/** The theme that is checked at a width. */
const CHECKED: Readonly<Record<string, 'light' | 'dark' | undefined>> = { phone: 'dark', wide: 'light' }

t.test('pages are accessible in both themes', { skip: NO_BROWSER }, async (t) => {
  const page = await browse(t)
  for (const [name, screen] of Object.entries(SCREENS)) {
    await page.setViewportSize(screen)
    for (const path of ['', 'getting-started.html', 'rules.html', 'api-tokens.html']) {
      await page.goto(`${base}/docs/${path}`)
      t.ok(await page.evaluate(`document.documentElement.scrollWidth <= ${screen.width}`), `${path} fits ${name}`)
      // Each theme at one width: axe needs seconds for a long page.
      const colorScheme = CHECKED[name]
      if (colorScheme === undefined) continue
      await page.emulateMedia({ colorScheme })
      await accessible(t, page, `${path || 'start page'}, ${name}, ${colorScheme}`)
    }
  }
})
