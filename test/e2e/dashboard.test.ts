import { readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { testFolder } from '../helpers/folder.js'
import { ask } from '../helpers/web.js'
import {
  accessible,
  callApi,
  enter,
  focused,
  newPage,
  newToken,
  NO_BROWSER as skip,
  openPage,
  signedIn,
  uiOf,
} from './dashboard.js'
import { ACCOUNT, configuration, startDaemon, TOKEN, unbuilt, ZONE, type Daemon } from './daemon.js'

const BUILT = fileURLToPath(new URL('../../dist/ui/', import.meta.url))
/** Of the first page with all that it loads, as it is sent. */
const MAX_BYTES = 250_000
const ENTRYPOINT = `/zones/${ZONE}/rulesets/phases/http_request_firewall_custom/entrypoint`
const OTHERS = 60
const WIDTHS = [390, 1280, 1440]

const idOf = (letter: string, number: number): string => letter + String(number).padStart(31, '0')

/** Zones for more than one page of the API. */
function many(more: object = {}): object {
  const base = configuration('demo') as { zones: object[] }
  const others = Array.from({ length: OTHERS }, (_, at) => ({
    id: idOf('b', at),
    account: ACCOUNT,
    name: `site-${at}.test`,
    origin: 'demo',
  }))
  return { ...base, zones: [...base.zones, ...others], ...more }
}

t.test('the listener serves built files only, compressed, with a strict policy', { skip: unbuilt }, async (t) => {
  const daemon = await startDaemon(t, configuration('demo'))
  const base = daemon.control.replace(/\/client\/v4$/, '')
  const page = await fetch(`${base}/ui/`)
  const html = await page.text()
  t.match(page.headers.get('content-security-policy'), /default-src 'none'.*frame-ancestors 'none'/)
  t.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
  t.equal(await (await fetch(`${base}/ui/z/example.test/overview`)).text(), html, 'addresses of pages are the page')
  const [, script = ''] = /src="(\/ui\/assets\/[^"]+\.js)"/.exec(html) ?? []
  const port = Number(new URL(base).port)
  const plain = await ask(port, script)
  t.match(plain.headers['cache-control'], /immutable/)
  for (const [accepted, sent, ending] of [
    ['gzip, deflate, br', 'br', '.br'],
    ['gzip', 'gzip', '.gz'],
    ['gzip, br;q=0', 'gzip', '.gz'],
  ] as const) {
    const { headers, body } = await ask(port, script, { headers: { 'accept-encoding': accepted } })
    t.equal(headers['content-encoding'], sent, accepted)
    t.ok(body.equals(readFileSync(`${BUILT}${script.replace('/ui/', '')}${ending}`)), 'as the build has written it')
  }
  const again = await fetch(base + script, { headers: { 'if-none-match': String(plain.headers['etag']) } })
  t.equal(again.status, 304)
  t.equal((await fetch(`${base}${script}.br`)).status, 404)
  t.equal((await fetch(`${base}/ui/assets/none.js`)).status, 404)
  t.equal((await fetch(`${base}/ui/%2e%2e%2fpackage.json`)).status, 404)
})

t.test('the first page is small and comes from here', { skip }, async (t) => {
  const daemon = await startDaemon(t, configuration('demo'))
  const page = await newPage(t)
  const loaded: string[] = []
  page.on('request', (request) => void loaded.push(request.url()))
  await page.goto(uiOf(daemon))
  await enter(page, TOKEN)
  await page.getByRole('figure', { name: 'Requests/s by status' }).waitFor()
  const origin = new URL(daemon.control).origin
  t.same(
    loaded.filter((url) => !url.startsWith(origin) && !/^(data|about|blob):/.test(url)),
    [],
    'nothing is loaded from elsewhere',
  )
  const files = new Set(loaded.map((url) => new URL(url).pathname).filter((path) => path.startsWith('/ui/assets/')))
  const bytes = [...files].reduce((sum, path) => sum + statSync(`${BUILT}${path.replace('/ui/', '')}.br`).size, 0)
  t.ok(files.size > 0 && bytes < MAX_BYTES, `${bytes} bytes in ${files.size} files`)
  t.notOk(
    [...files].some((path) => path.includes('codemirror')),
    'the editor comes later',
  )
})

t.test('a person signs in, and keeps what is typed when the session ends', { skip }, async (t) => {
  const folder = testFolder(t)
  const daemon = await startDaemon(t, configuration('demo'), folder)
  const page = await newPage(t)
  await page.goto(uiOf(daemon))
  await accessible(t, page, 'sign-in')
  await enter(page, 'wrong-token-wrong-token')
  await page.getByRole('alert').waitFor()
  const token = await newToken(daemon)
  const disabled = await newToken(daemon)
  await disabled.disable()
  await enter(page, disabled.value)
  await page.getByText('this token is disabled').waitFor()
  await page.getByRole('checkbox').uncheck()
  await enter(page, token.value)
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
  t.equal(await focused(page), 'Overview', 'screen readers say where they are')
  const stored = await page.evaluate('JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie])')
  t.notOk(String(stored).includes(token.value), 'the token is in memory only')

  await openPage(page, 'Zones')
  await page.getByRole('button', { name: 'Add zone' }).first().click()
  const name = page.getByRole('dialog').getByRole('textbox').first()
  await name.fill('typed.test')
  await token.disable()
  await page.keyboard.press('Tab')
  await callUntilSignedOut(page)
  await page.getByText(/^You are signed out: /).waitFor()
  await page.getByLabel('Keep me signed in until this tab is closed').uncheck()
  await enter(page, TOKEN)
  await page.getByLabel('API token').waitFor({ state: 'detached' })
  t.equal(await name.inputValue(), 'typed.test')

  await page.reload()
  await page.getByLabel('API token').waitFor()
})

/** Pages read again when their window gets the focus. */
async function callUntilSignedOut(page: Page): Promise<void> {
  const asks = page.getByLabel('API token')
  for (let tries = 0; tries < 50 && !(await asks.isVisible()); tries += 1) {
    await page.evaluate('dispatchEvent(new Event("visibilitychange"))')
    await page.waitForTimeout(200)
  }
}

t.test('the head finds zones, rules and requests, and keys do the rest', { skip }, async (t) => {
  const daemon = await startDaemon(t, many())
  await callApi(daemon, 'PUT', ENTRYPOINT, {
    rules: [{ action: 'block', description: 'No entry', expression: 'http.request.uri.path eq "/closed"' }],
  })
  const page = await signedIn(t, daemon)
  await page.getByRole('button', { name: /^Zone or account: / }).click()
  await page.getByLabel('Find a zone').fill('site-58')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/z\/site-58\.test\/overview$/)

  await page.goto(uiOf(daemon, 'z/example.test/overview'))
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
  await page.keyboard.press('?')
  const keys = page.getByRole('dialog', { name: 'Keys' })
  await keys.getByText('Choose the range').waitFor()
  await accessible(t, page, 'list of keys')
  await page.keyboard.press('Escape')
  await keys.waitFor({ state: 'detached' })
  await page.keyboard.press('g')
  await page.keyboard.press('r')
  await page.waitForURL(/\/z\/example\.test\/requests/)
  await page.getByRole('heading', { name: 'Requests', level: 1 }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill('no entry')
  await page.getByRole('option', { name: /No entry/ }).click()
  await page.waitForURL(/\/rules\/http_request_firewall_custom\/[0-9a-f]{32}/)
  await page.goto(uiOf(daemon, 'z/example.test/overview'))
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill('trusted proxies')
  const manual = page.waitForEvent('popup')
  await page
    .getByRole('option', { name: /Manual/ })
    .first()
    .click()
  t.match((await manual).url(), /\/docs\/[\w-]+\.html/, 'the manual opens beside the dashboard')
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill('0123456789abcdef-FRA')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').getByText('Not kept', { exact: true }).waitFor()
  await accessible(t, page, 'a request that is not kept')
})

t.test('addresses say what they mean, or that it is not there', { skip }, async (t) => {
  const daemon = await startDaemon(t, many())
  const page = await signedIn(t, daemon)
  await page.goto(uiOf(daemon, `#/audit?zone=${ZONE}`))
  await page.waitForURL(new RegExp(`/a/${ACCOUNT}/audit`))
  await page.goto('about:blank')
  await page.goto(uiOf(daemon, `#/zone?zone=${ZONE}`))
  await page.waitForURL(new RegExp(`/z/${ZONE}/settings`))
  await page.goto(uiOf(daemon, 'z/none.test/settings'))
  await page.getByText('No zone with this id, or this token cannot see it').waitFor()
  t.equal(await page.getByRole('switch').count(), 0, 'nothing can be changed')
  t.equal(await page.getByRole('navigation', { name: 'Pages' }).count(), 0)
  await accessible(t, page, 'unknown zone')
  await page.getByRole('link', { name: 'Zones of this token' }).click()
  await page.getByRole('heading', { name: 'Zones', level: 1 }).waitFor()

  const { value } = await newToken(daemon, { groups: ['Zone Settings Read', 'Zone Read'], zone: idOf('b', 7) })
  const limited = await signedIn(t, daemon, value)
  t.match(limited.url(), /\/z\/site-7\.test\//)
  const menu = limited.getByRole('navigation', { name: 'Pages' })
  await menu.getByRole('link', { name: 'Settings' }).waitFor()
  t.equal(await menu.getByRole('link', { name: 'Webhooks' }).count(), 0, 'the menu has what the token may see')
  t.equal(await menu.getByRole('link', { name: 'Requests' }).count(), 0)
})

/** Returns the width of the page. Plots follow a new size of the window some frames later: waits for the wanted width. */
async function widthOf(page: Page, wanted: number): Promise<unknown> {
  for (let looks = 0; ; looks += 1) {
    const width = await page.evaluate('document.documentElement.scrollWidth')
    if (width === wanted || looks === 100) return width
    await page.waitForTimeout(50)
  }
}

/** Sends requests of browsers and agents, so that pages have something to show. */
async function visits(daemon: Daemon): Promise<void> {
  const port = Number(new URL(daemon.proxy).port)
  for (const path of ['/', '/signals.html', '/none', '/closed'])
    for (const agent of ['Mozilla/5.0', 'GPTBot/1.2', 'ClaudeBot/1.0'])
      await ask(port, path, { headers: { accept: 'text/markdown', 'user-agent': agent } })
}

/** Fails for each size and theme in which a page is wider than the window or has a serious fault. */
async function fits(t: Test, page: Page, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 })
      t.equal(await widthOf(page, width), width, `${name}, ${width} px, ${colorScheme}`)
    }
    // Contrast is a matter of the theme, and names and order one of the width.
    const width = WIDTHS.at(colorScheme === 'light' ? -1 : 0)!
    await page.setViewportSize({ width, height: 900 })
    await accessible(t, page, `${name}, ${width} px, ${colorScheme}`)
  }
}

t.test('every page fits every window, in both themes, without faults', { skip }, async (t) => {
  const daemon = await startDaemon(t, configuration('demo'))
  await callApi(daemon, 'PUT', ENTRYPOINT, {
    rules: [{ action: 'block', description: 'No entry', expression: 'http.request.uri.path eq "/closed"' }],
  })
  await visits(daemon)
  const page = await signedIn(t, daemon)
  page.on('console', (message) => {
    if (message.type() === 'error') t.fail(`${page.url()}: ${message.text()}`)
  })
  const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link')
  for (const name of await links.allTextContents()) {
    await page.setViewportSize({ width: 1440, height: 900 })
    await openPage(page, name)
    await page.waitForLoadState('networkidle')
    await fits(t, page, name)
  }
})
