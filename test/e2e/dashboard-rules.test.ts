import t from 'tap'
import { until } from '../helpers/web.js'
import { accessible, callApi as api, focused, NO_BROWSER as skip, signedIn, uiOf } from './dashboard.js'
import { configuration, startDaemon, ZONE, type Daemon } from './daemon.js'

const PHASE = 'http_request_firewall_custom'

interface Rule {
  readonly id: string
  readonly description: string
  readonly expression: string
  readonly action: string
  readonly action_parameters?: object
  readonly enabled: boolean
}

const rulesOf = async (daemon: Daemon) =>
  (await api<{ rules: readonly Rule[] }>(daemon, 'GET', `/zones/${ZONE}/rulesets/phases/${PHASE}/entrypoint`)).rules
const namesOf = async (daemon: Daemon) => (await rulesOf(daemon)).map(({ description }) => description).join(', ')

t.test('a rule is built from conditions, and its error is at its field', { skip }, async (t) => {
  const daemon = await startDaemon(t, configuration('demo'))
  const page = await signedIn(t, daemon)
  await page.goto(uiOf(daemon, `z/${ZONE}/rules`))
  await page.getByRole('button', { name: 'New custom rule' }).first().click()
  const sheet = page.getByRole('dialog')
  await sheet.getByRole('textbox', { name: 'Name', exact: true }).fill('No entry')
  await sheet.getByLabel('Operator').selectOption('starts_with')
  await sheet.getByLabel('Value', { exact: true }).fill('/private')
  await sheet.getByRole('button', { name: 'and', exact: true }).click()
  await sheet.getByLabel('Field').nth(1).selectOption('http.request.method')
  await sheet.getByLabel('Value', { exact: true }).nth(1).fill('POST')
  await sheet.getByText('starts_with(http.request.uri.path, "/private") and http.request.method eq "POST"').waitFor()
  await sheet.getByLabel('Then').selectOption('block')
  await sheet.getByLabel('Response').selectOption('own')
  await accessible(t, page, 'the sheet of a rule')
  await sheet.getByRole('button', { name: 'Create', exact: true }).click()
  await until(async () => (await sheet.getByLabel('Body').getAttribute('aria-invalid')) === 'true')
  await sheet.getByLabel('Body').fill('no')
  await sheet.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByText('No entry is created.').waitFor()
  t.match(await rulesOf(daemon), [
    {
      expression: 'starts_with(http.request.uri.path, "/private") and http.request.method eq "POST"',
      action: 'block',
      action_parameters: { response: { status_code: 403, content: 'no' } },
      enabled: true,
    },
  ])
  await accessible(t, page, 'rules')
})

t.test('rules are moved, switched, copied, deleted and brought back', { skip }, async (t) => {
  const daemon = await startDaemon(t, configuration('demo'))
  const rules = ['A', 'B', 'C'].map((description) => ({ description, expression: 'ssl', action: 'log' }))
  await api(daemon, 'PUT', `/zones/${ZONE}/rulesets/phases/${PHASE}/entrypoint`, { rules })
  const page = await signedIn(t, daemon)
  await page.goto(uiOf(daemon, `z/${ZONE}/rules`))
  await page.getByRole('button', { name: 'Edit B' }).focus()
  await page.keyboard.press('Alt+ArrowUp')
  await until(async () => (await namesOf(daemon)) === 'B, A, C')
  await until(async () => (await focused(page)) === 'Edit B')
  await page.getByRole('switch', { name: 'A is on' }).click()
  await page.getByText('A is off.').waitFor()
  t.notOk((await rulesOf(daemon))[1]!.enabled)
  await page.getByRole('button', { name: 'Actions for C' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  const deleted = page.getByText('C is deleted.')
  await deleted.waitFor()
  t.equal(await namesOf(daemon), 'B, A')
  // The newest message is the first one.
  await page.getByRole('button', { name: 'Undo' }).first().click()
  await until(async () => (await namesOf(daemon)) === 'B, A, C')
  await page.getByLabel('State').selectOption('off')
  await page.getByRole('button', { name: 'Edit B' }).waitFor({ state: 'detached' })
  t.match(page.url(), /state=off/, 'the filter is in the address')
})

t.test('an expression of the address is mended by a click, and a trace shows the rule', { skip }, async (t) => {
  const daemon = await startDaemon(t, configuration('demo'))
  const rule = { description: 'No entry', expression: 'http.request.uri.path eq "/private"', action: 'block' }
  await api(daemon, 'PUT', `/zones/${ZONE}/rulesets/phases/${PHASE}/entrypoint`, { rules: [rule] })
  const page = await signedIn(t, daemon)
  const expression = encodeURIComponent('http.hst eq "a"')
  await page.goto(uiOf(daemon, `z/${ZONE}/rules/${PHASE}/new?expression=${expression}`))
  await page.getByRole('button', { name: 'Did you mean http.host?' }).click()
  await until(async () => (await page.getByLabel('Field').inputValue()) === 'http.host')
  t.equal(await page.getByLabel('Value', { exact: true }).inputValue(), 'a')
  const url = encodeURIComponent('http://example.test/private')
  await page.goto(uiOf(daemon, `z/${ZONE}/rules?trace_url=${url}`))
  await page.getByText('A rule responds with 403.').waitFor()
  await page.getByRole('link', { name: 'No entry' }).waitFor()
})
