import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'
import { TOKEN, unbuilt, type Daemon } from './daemon.js'

/** The browser of the tests. */
export const CHROMIUM = '/usr/bin/chromium'
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Why tests of the dashboard cannot run here, or false. */
export const NO_BROWSER: string | false = unbuilt || (existsSync(CHROMIUM) ? false : `${CHROMIUM} is not installed`)

/** Calls the API; a text is NDJSON. Returns the result, throws if the status is not 2xx. */
export async function callApi<T>(daemon: Daemon, method: string, path: string, body?: object | string): Promise<T> {
  const type = typeof body === 'string' ? 'application/x-ndjson' : 'application/json'
  const response = await fetch(daemon.control + path, {
    method,
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': type },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  return ((await response.json()) as { result: T }).result
}

/** Opens the dashboard with a token that is kept until the tab is closed, so that pages can be reloaded. */
export async function signedIn(t: Test, daemon: Daemon): Promise<Page> {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
  t.teardown(() => browser.close())
  const page = await browser.newPage({ viewport: { width: 1200, height: 900 } })
  page.on('pageerror', (error) => t.fail(error.message))
  page.on('dialog', (dialog) => void dialog.accept())
  await page.goto(`${daemon.control.replace(/\/client\/v4$/, '')}/ui/`)
  await page.getByLabel('API token').fill(TOKEN)
  await page.getByRole('checkbox').check()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  return page
}

/** Opens a page by the navigation. */
export async function openPage(page: Page, name: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Pages', exact: true }).getByRole('link', { name, exact: true }).click()
  await page.getByRole('heading', { name, level: 1 }).waitFor()
}

/** Fails for each serious fault that axe finds on the page. */
export async function accessible(t: Test, page: Page, name: string): Promise<void> {
  await page.evaluate(AXE)
  const found = await page.evaluate(
    `axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations.filter(({ impact }) => impact === 'serious' || impact === 'critical').map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 150)).join(' ')))`,
  )
  t.same(found, [], `${name}: no serious fault`)
}
