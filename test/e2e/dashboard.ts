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

/** Makes an API token. `groups`: names of permissions, without which it has all. `zone`: only for this zone. */
export async function newToken(
  daemon: Daemon,
  { groups, zone }: { groups?: readonly string[]; zone?: string } = {},
): Promise<{ readonly id: string; readonly value: string; readonly disable: () => Promise<unknown> }> {
  const all = await callApi<{ id: string; name: string }[]>(daemon, 'GET', '/user/tokens/permission_groups')
  const chosen = groups ? all.filter(({ name }) => groups.includes(name)) : all
  const policy = (resource: string) => ({
    effect: 'allow',
    permission_groups: chosen.map(({ id }) => ({ id })),
    resources: { [resource]: '*' },
  })
  const of = 'com.cloudflare.api.account'
  const policies = zone ? [policy(`${of}.zone.${zone}`)] : [`${of}.*`, `${of}.zone.*`].map(policy)
  const token = { name: 'made by a test', policies }
  const { id, value } = await callApi<{ id: string; value: string }>(daemon, 'POST', '/user/tokens', token)
  const path = `/user/tokens/${id}`
  return { id, value, disable: async () => await callApi(daemon, 'PUT', path, { ...token, status: 'disabled' }) }
}

/** Address of the dashboard; `path` as in `z/example.test/rules`. */
export const uiOf = ({ control }: Daemon, path = ''): string => `${control.replace(/\/client\/v4$/, '')}/ui/${path}`

/** A window without a session. Exceptions of scripts and blocked resources of the page fail the test. */
export async function newPage(t: Test, viewport = { width: 1280, height: 900 }): Promise<Page> {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
  t.teardown(() => browser.close())
  const page = await browser.newPage({ viewport })
  page.on('pageerror', (error) => t.fail(error.message))
  page.on('console', (message) => {
    if (/Content Security Policy|Warning:|Minified React error/.test(message.text())) t.fail(message.text())
  })
  return page
}

/** Types a token on the page that asks for one. */
export async function enter(page: Page, token: string): Promise<void> {
  await page.getByLabel('API token').fill(token)
  await page.keyboard.press('Enter')
}

/** Opens the dashboard with a token that is kept until the tab is closed, so that pages can be reloaded. */
export async function signedIn(t: Test, daemon: Daemon, token = TOKEN): Promise<Page> {
  const page = await newPage(t)
  await page.goto(uiOf(daemon))
  await page.getByRole('checkbox').check()
  await enter(page, token)
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
  return page
}

/** Opens a page by the menu. */
export async function openPage(page: Page, name: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Pages', exact: true }).getByRole('link', { name, exact: true }).click()
  await page.getByRole('heading', { name, level: 1 }).waitFor()
}

/** Name or text of what has the focus. */
export const focused = async (page: Page): Promise<unknown> =>
  await page.evaluate('document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent')

const FAULTS = `axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations.filter(({ impact }) => impact === 'serious' || impact === 'critical').map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 150)).join(' ')))`

/**
 * Fails for each serious fault that axe finds on the page. A page that changes during the look, such as a button that is
 * enabled when data arrive, is looked at again.
 */
export async function accessible(t: Test, page: Page, name: string): Promise<void> {
  await page.evaluate(AXE)
  let found = await page.evaluate(FAULTS)
  for (let looks = 1; looks < 3 && (found as string[]).length > 0; looks += 1) {
    await page.waitForTimeout(500)
    found = await page.evaluate(FAULTS)
  }
  t.same(found, [], `${name}: no serious fault`)
}
