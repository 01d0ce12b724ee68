import t from 'tap'
import { ask, until } from '../helpers/web.js'
import { accessible, callApi as api, focused, NO_BROWSER as skip, signedIn, uiOf } from './dashboard.js'
import { ACCOUNT, configuration, startDaemon, ZONE, type Daemon } from './daemon.js'

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

t.test('rules are selected and edited by keys, changed together, and shown in chosen columns', { skip }, async (t) => {
  const daemon = await startDaemon(t, configuration('demo'))
  const rules = ['A', 'B', 'C'].map((description) => ({ description, expression: 'ssl', action: 'log' }))
  await api(daemon, 'PUT', `/zones/${ZONE}/rulesets/phases/${PHASE}/entrypoint`, { rules })
  const page = await signedIn(t, daemon)
  await page.goto(uiOf(daemon, `z/${ZONE}/rules`))
  await page.getByRole('button', { name: 'Edit A' }).waitFor()
  await page.keyboard.press('j')
  await until(async () => (await focused(page)) === 'Edit A')
  for (const key of ['x', 'j', 'j', 'x']) await page.keyboard.press(key)
  const bulk = page.getByRole('group', { name: 'Selected rules' })
  await bulk.getByText('2 rules selected').waitFor()
  await accessible(t, page, 'selected rules')
  await bulk.getByRole('button', { name: 'Disable' }).click()
  await page.getByText('2 rules are off.').waitFor()
  t.same(
    (await rulesOf(daemon)).map(({ enabled }) => enabled),
    [false, true, false],
  )
  await page.getByRole('checkbox', { name: 'Select all rows' }).check()
  await bulk.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('3 rules are deleted.').waitFor()
  await page.getByRole('button', { name: 'Undo' }).first().click()
  await until(async () => (await namesOf(daemon)) === 'A, B, C')
  await page.getByRole('button', { name: 'Edit B' }).focus()
  await page.keyboard.press('e')
  await page.getByRole('dialog', { name: 'Edit B' }).waitFor()
  await page.keyboard.press('Escape')
  await until(async () => (await focused(page)) === 'Edit B')

  await page.getByRole('button', { name: 'Columns' }).click()
  await page.getByRole('menuitemcheckbox', { name: 'When' }).click()
  await page.getByRole('columnheader', { name: 'When' }).waitFor({ state: 'detached' })
  await accessible(t, page, 'the menu of columns')
  await page.reload()
  await page.getByRole('button', { name: 'Edit B' }).waitFor()
  t.equal(await page.getByRole('columnheader', { name: 'When' }).count(), 0, 'the browser keeps the choice')
  await page.getByRole('button', { name: 'Columns' }).click()
  await page.getByRole('menuitem', { name: 'Show the usual ones' }).click()
  await page.getByRole('columnheader', { name: 'When' }).waitFor()
})

t.test(
  'a rule without hits is found, a ruleset is chosen by its name, and a list names its rules',
  { skip },
  async (t) => {
    const daemon = await startDaemon(t, configuration('demo'))
    const account = `/accounts/${ACCOUNT}`
    const list = await api<{ id: string }>(daemon, 'POST', `${account}/rules/lists`, { name: 'office', kind: 'ip' })
    await api(daemon, 'PUT', `/zones/${ZONE}/rulesets/phases/${PHASE}/entrypoint`, {
      rules: [
        { description: 'Busy', expression: 'http.request.uri.path eq "/none"', action: 'log' },
        { description: 'Idle', expression: 'ip.src in $office', action: 'block' },
      ],
    })
    const ruleset = { name: 'Common checks', kind: 'custom', phase: PHASE, rules: [] }
    const { id } = await api<{ id: string }>(daemon, 'POST', `${account}/rulesets`, ruleset)
    await ask(Number(new URL(daemon.proxy).port), '/none')
    const page = await signedIn(t, daemon)
    await page.goto(uiOf(daemon, `z/${ZONE}/rules?state=idle`))
    await page.getByRole('button', { name: 'Edit Idle' }).waitFor()
    // The counts of a request arrive some seconds later.
    await until(async () => {
      await page.reload()
      await page.getByRole('button', { name: 'Edit Idle' }).waitFor()
      return (await page.getByRole('button', { name: 'Edit Busy' }).count()) === 0
    })
    await page.goto(uiOf(daemon, `a/${ACCOUNT}/rules/${PHASE}/new`))
    const sheet = page.getByRole('dialog')
    await sheet.getByRole('textbox', { name: 'Name', exact: true }).fill('All zones')
    await sheet.getByLabel('Then').selectOption('execute')
    await sheet.getByLabel('Ruleset').selectOption({ label: 'Common checks (custom)' })
    t.equal(await sheet.getByLabel('Ruleset').inputValue(), id)
    await page.goto(uiOf(daemon, `a/${ACCOUNT}/lists/${list.id}`))
    await page.getByRole('dialog').getByRole('link', { name: 'Idle' }).click()
    await page.getByRole('dialog', { name: 'Edit Idle' }).waitFor()
  },
)
