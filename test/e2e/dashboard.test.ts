import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { chromium, type Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { accessible, CHROMIUM, NO_BROWSER as skip } from './dashboard.js'
import { configuration, startDaemon, TOKEN, unbuilt, ZONE } from './daemon.js'

const BUILT = fileURLToPath(new URL('../../dist/ui/assets/', import.meta.url))
const MAX_GZIP_BYTES = 300_000

t.test('everything before the editor is small', { skip: unbuilt }, async (t) => {
  const early = readdirSync(BUILT).filter((name) => !name.startsWith('codemirror'))
  const bytes = early.reduce((sum, name) => sum + gzipSync(readFileSync(`${BUILT}/${name}`)).length, 0)
  t.ok(bytes > 0 && bytes < MAX_GZIP_BYTES, `${bytes} bytes`)
  t.ok(
    readdirSync(BUILT).some((name) => name.startsWith('codemirror')),
    'the editor is a file of its own',
  )
})

t.test('the listener serves built files only, with a strict policy', { skip: unbuilt }, async (t) => {
  const daemon = await startDaemon(t, configuration('demo'))
  const base = daemon.control.replace(/\/client\/v4$/, '')
  const page = await fetch(`${base}/ui/`)
  const html = await page.text()
  t.match(page.headers.get('content-security-policy'), /default-src 'none'.*frame-ancestors 'none'/)
  t.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
  const [, script = ''] = /src="(\/ui\/assets\/[^"]+\.js)"/.exec(html) ?? []
  const asset = await fetch(base + script)
  t.match(asset.headers.get('cache-control'), /immutable/)
  t.equal(asset.headers.get('content-encoding'), 'gzip')
  const again = await fetch(base + script, { headers: { 'if-none-match': asset.headers.get('etag') ?? '' } })
  t.equal(again.status, 304)
  t.equal((await fetch(`${base}/ui/assets/none.js`)).status, 404)
  t.equal((await fetch(`${base}/ui/%2e%2e%2fpackage.json`)).status, 404)
})

/** Returns the width of the page. Plots follow a new size of the window some frames later: waits for the wanted width. */
async function widthOf(page: Page, wanted: number): Promise<unknown> {
  for (let looks = 0; ; looks += 1) {
    const width = await page.evaluate('document.documentElement.scrollWidth')
    if (width === wanted || looks === 100) return width
    await page.waitForTimeout(50)
  }
}

/** Fails for each page that must be scrolled sideways at 360 or 1280 pixels, or that has a serious fault in dark mode. */
async function fitsScreens(t: Test, page: Page, open: (name: string) => Promise<void>): Promise<void> {
  const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link')
  for (const name of await links.allTextContents()) {
    await open(name)
    await page.waitForLoadState('networkidle')
    for (const width of [360, 1280]) {
      await page.setViewportSize({ width, height: 800 })
      t.equal(await widthOf(page, width), width, `${name}, ${width} px`)
    }
    await page.emulateMedia({ colorScheme: 'dark' })
    await accessible(t, page, `${name}, dark`)
    await page.emulateMedia({ colorScheme: 'light' })
  }
}

/** Makes an API token and disables it. Returns its secret. */
async function disabledToken(control: string): Promise<string> {
  const call = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${control}/user/tokens${path}`, {
      method,
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    return ((await response.json()) as { result: unknown }).result
  }
  const [group] = (await call('GET', '/permission_groups?name=Zone%20Read')) as { id: string }[]
  const resources = { 'com.cloudflare.api.account.zone.*': '*' }
  const token = { name: 'old', policies: [{ effect: 'allow', permission_groups: [{ id: group!.id }], resources }] }
  const { id, value } = (await call('POST', '', token)) as { id: string; value: string }
  await call('PUT', `/${id}`, { ...token, status: 'disabled' })
  return value
}

t.test('a person makes a rule and sees it act, on accessible pages', { skip }, async (t) => {
  const daemon = await startDaemon(t, configuration('demo'))
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
  t.teardown(() => browser.close())
  const page = await browser.newPage({ viewport: { width: 1200, height: 800 } })
  const base = daemon.control.replace(/\/client\/v4$/, '')
  const elsewhere: string[] = []
  page.on('request', (request) => {
    const url = request.url()
    if (!url.startsWith(base) && !/^(data|about|blob):/.test(url)) elsewhere.push(url)
  })
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(error.message))

  await page.goto(`${base}/ui/`)
  await accessible(t, page, 'sign-in')
  await page.getByLabel('API token').fill('wrong-token-wrong-token')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').waitFor()
  await page.getByLabel('API token').fill(await disabledToken(daemon.control))
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('this token is disabled').waitFor()
  await page.getByLabel('API token').fill(TOKEN)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.getByRole('region', { name: 'Origins' }).waitFor()
  await accessible(t, page, 'Overview')
  const stored = (await page.evaluate(
    'JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie])',
  )) as string
  t.notOk(stored.includes(TOKEN), 'the token is in memory only')

  const open = async (name: string): Promise<void> => {
    await page.getByRole('navigation').getByRole('link', { name, exact: true }).click()
    await page.getByRole('heading', { name, level: 1 }).waitFor()
  }
  await open('Rulesets')
  await page.getByRole('button', { name: 'Add a rule' }).click()
  await page.getByLabel('Description').fill('No entry')
  await page.getByRole('textbox', { name: 'Expression', exact: true }).click()
  await page.keyboard.press('Control+A')
  await page.keyboard.insertText('http.request.uri.pth eq "/closed"')
  await page.locator('.cm-lintRange-error').first().waitFor()
  await page.keyboard.press('Control+A')
  await page.keyboard.insertText('http.request.uri.path eq "/closed"')
  await page.getByRole('button', { name: 'Store the rule' }).click()
  await page.getByText('The rule is stored and in force.').waitFor()
  await accessible(t, page, 'Rulesets')
  t.equal((await fetch(`${daemon.proxy}/closed`)).status, 403, 'the rule acts')

  await page.getByLabel('URL').fill('http://example.test/closed')
  await page.getByRole('button', { name: 'Trace', exact: true }).click()
  await page.getByText('A rule responds with 403.').waitFor()

  await open('Try it')
  await page.getByRole('button', { name: 'Try', exact: true }).click()
  await page.getByLabel('Markdown', { exact: true }).waitFor()
  t.match(await page.getByLabel('Markdown', { exact: true }).textContent(), /# Kestrel Rock Lighthouse/)
  await accessible(t, page, 'Try it')

  await open('Zone')
  await page.getByRole('switch', { name: 'content_converter' }).click()
  await page.getByText(/content_converter is stored/).waitFor()
  const setting = await fetch(`${daemon.control}/zones/${ZONE}/settings/content_converter`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  })
  t.match(await setting.json(), { result: { value: 'off' } })

  for (const name of ['Log push', 'Pipelines', 'Webhooks', 'Workers', 'Certificates', 'Audit']) {
    await open(name)
    await page.waitForLoadState('networkidle')
    await accessible(t, page, name)
  }
  await fitsScreens(t, page, open)
  await page.getByText('update setting').first().waitFor()
  t.same(elsewhere, [], 'nothing is loaded from elsewhere')
  t.same(faults, [], 'no error in scripts')

  await page.reload()
  await page.getByLabel('API token').waitFor()
})
