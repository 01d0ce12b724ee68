import { chromium, type Browser, type Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { testFolder } from '../helpers/folder.js'
import { CHROMIUM, NO_BROWSER as skip, openPage as open } from './dashboard.js'
import { ACCOUNT, configuration, startDaemon, TOKEN, ZONE, type Daemon } from './daemon.js'

const ENTRYPOINT = `/zones/${ZONE}/rulesets/phases/http_request_firewall_custom/entrypoint`
const OTHERS = 60
const ONE_ZONE = 'token-for-one-zone-of-the-account'

const idOf = (letter: string, number: number): string => letter + String(number).padStart(31, '0')

/** Accounts and zones for more than one page of the API each. */
function many(more: object = {}): object {
  const base = configuration('demo') as { accounts: object[]; zones: object[]; tokens: object[] }
  const numbers = Array.from({ length: OTHERS }, (_, at) => at)
  const accounts = numbers.map((at) => ({ id: idOf('a', at), name: `Customer ${at}` }))
  const zones = numbers.map((at) => ({ id: idOf('b', at), account: ACCOUNT, name: `site-${at}.test`, origin: 'demo' }))
  const one = {
    name: 'one',
    token: ONE_ZONE,
    permissions: ['Zone Settings Write'],
    accounts: [],
    zones: [idOf('b', 7)],
  }
  return {
    ...base,
    accounts: [...base.accounts, ...accounts],
    zones: [...base.zones, ...zones],
    tokens: [...base.tokens, one],
    ...more,
  }
}

async function call<T>(daemon: Daemon, method: string, path: string, body?: object): Promise<T> {
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
  const response = await fetch(daemon.control + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  return ((await response.json()) as { result: T }).result
}

async function browserFor(t: Test): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
  t.teardown(() => browser.close())
  return browser
}

async function signedIn(browser: Browser, daemon: Daemon, token = TOKEN): Promise<Page> {
  const page = await browser.newPage()
  await page.goto(`${daemon.control.replace(/\/client\/v4$/, '')}/ui/`)
  await enter(page, token)
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  return page
}

async function enter(page: Page, token: string): Promise<void> {
  await page.getByLabel('API token').fill(token)
  await page.keyboard.press('Enter')
}

const focused = async (page: Page): Promise<unknown> =>
  await page.evaluate('document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent')

t.test('long lists are complete and serve the keyboard', { skip }, async (t) => {
  const daemon = await startDaemon(t, many())
  const rules = Array.from({ length: 120 }, (_, at) => ({
    action: 'block',
    description: `rule ${at}`,
    expression: `http.request.uri.path eq "/closed-${at}"`,
  }))
  await call(daemon, 'PUT', ENTRYPOINT, { rules })
  const page = await signedIn(await browserFor(t), daemon)

  const zone = page.getByLabel('Zone', { exact: true })
  await zone.click()
  await page.getByText('50 of 61, type to search').waitFor()
  for (let at = 0; at < 50; at += 1) await page.keyboard.press('ArrowDown')
  await page.getByText('61 of 61, type to search').waitFor()
  await page.keyboard.type('site-58')
  await page.getByText('1 of 1, type to search').waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(new RegExp(`zone=${idOf('b', 58)}$`))
  await page.getByLabel('Account', { exact: true }).click()
  await page.getByText('50 of 61, type to search').waitFor()
  await page.keyboard.type('customer 59')
  await page.getByText('1 of 1, type to search').waitFor()
  await page.keyboard.press('Enter')
  await page.getByText('This account has no zone.').waitFor()
  await page.goBack()
  await page.locator('[role=combobox][placeholder="site-58.test"]').waitFor()

  await page.goto(`${page.url().replace(/#.*/, '')}#/rulesets?zone=${ZONE}`)
  await page.getByText('1 to 50 of 120').waitFor()
  const next = page.getByRole('navigation', { name: 'Pages of: Rules' }).getByRole('button', { name: 'Next' })
  await next.focus()
  await page.keyboard.press('Enter')
  await page.getByText('51 to 100 of 120').waitFor()
  t.equal(await focused(page), 'Next')
  await page.getByLabel('Position of rule 60', { exact: true }).fill('3')
  await page.keyboard.press('Enter')
  await page.getByText('Rule 61 is now rule 3 of 120.').waitFor()
  await page.getByText('1 to 50 of 120').waitFor()
  await page.locator('[aria-label="Position of rule 60"]:focus').waitFor()
  await page.getByLabel('Search in the rules').fill('closed-119')
  t.equal(
    await page
      .getByRole('list', { name: /^Rules in the order/ })
      .getByRole('listitem')
      .count(),
    1,
  )
  await page.close()

  const limited = await signedIn(page.context().browser()!, daemon, ONE_ZONE)
  await open(limited, 'Zone')
  t.equal(await limited.getByLabel('Zone', { exact: true }).inputValue(), 'site-7.test')
  await limited.getByRole('switch', { name: 'content_converter' }).waitFor()
  await limited.getByText('this token has no permission for this').first().waitFor()
})

t.test('what a person has typed outlives a refusal, an ended token and a restart', { skip }, async (t) => {
  const folder = testFolder(t)
  const daemon = await startDaemon(t, many(), folder)
  const groups = await call<{ id: string }[]>(daemon, 'GET', '/user/tokens/permission_groups')
  const policy = (resource: string) => ({
    effect: 'allow',
    permission_groups: groups.map(({ id }) => ({ id })),
    resources: { [resource]: '*' },
  })
  const policies = ['com.cloudflare.api.account.*', 'com.cloudflare.api.account.zone.*'].map(policy)
  const token = await call<{ id: string; value: string }>(daemon, 'POST', '/user/tokens', { name: 'short', policies })
  const page = await signedIn(await browserFor(t), daemon, token.value)

  await open(page, 'Zone')
  await page.getByRole('button', { name: 'Change browser_cache_ttl' }).click()
  const ttl = page.getByLabel('New value of browser_cache_ttl')
  t.equal(await focused(page), 'New value of browser_cache_ttl')
  await ttl.fill('-5')
  await page.keyboard.press('Enter')
  await page
    .getByRole('row', { name: /browser_cache_ttl/ })
    .getByRole('alert')
    .waitFor()
  t.equal(await ttl.inputValue(), '-5')
  await page.getByRole('switch', { name: 'Markdown for all custom hostnames', checked: false }).click()
  await page.getByRole('switch', { name: 'Markdown for all custom hostnames', checked: true }).waitFor()

  await call(daemon, 'PUT', ENTRYPOINT, { rules: [{ action: 'block', expression: 'http.host eq "first.test"' }] })
  await open(page, 'Rulesets')
  await page.getByRole('button', { name: 'Add a rule' }).click()
  await page.getByLabel('Description').fill('second')
  await page.getByLabel('Action parameters').fill('{"response":{"status_code":99}}')
  await page.getByRole('button', { name: 'Store the rule' }).click()
  await page.locator('.field', { hasText: 'Action parameters' }).getByRole('alert').waitFor()
  await page.getByLabel('Action parameters').fill('')

  await call(daemon, 'PUT', `/user/tokens/${token.id}`, { name: 'short', status: 'disabled', policies })
  await page.getByText('The session has ended: the access token is disabled').waitFor()
  await enter(page, TOKEN)
  t.equal(await page.getByLabel('Description').inputValue(), 'second')

  daemon.signal('SIGTERM')
  await daemon.ended
  await page.getByRole('button', { name: 'Store the rule' }).click()
  await page.getByText('the daemon does not respond').first().waitFor()
  await open(page, 'Zone')
  await page.getByRole('button', { name: 'Try again' }).first().waitFor()
  const again = await startDaemon(t, many({ control: { listen: new URL(daemon.control).host } }), folder)
  await page.getByRole('switch', { name: 'content_converter', exact: true }).waitFor()
  await open(page, 'Rulesets')
  await page.getByText('http.host eq "first.test"').waitFor()
  const { rules } = await call<{ rules: unknown[] }>(again, 'GET', ENTRYPOINT)
  t.equal(rules.length, 1, 'no refused form has replaced the rules')
})
