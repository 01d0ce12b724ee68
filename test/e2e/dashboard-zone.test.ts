import t from 'tap'
import { until } from '../helpers/web.js'
import { accessible, callApi as api, NO_BROWSER as skip, openPage as open, signedIn } from './dashboard.js'
import { configuration, startDaemon, ZONE } from './daemon.js'

t.test('every switch of the zone page is stored, and the same after a reload', { skip }, async (t) => {
  const daemon = await startDaemon(t, configuration('demo'))
  const page = await signedIn(t, daemon)
  await open(page, 'Zone')
  await page.getByRole('switch', { name: 'content_converter', exact: true }).waitFor()
  interface Setting {
    readonly id: string
    readonly value: unknown
    readonly editable: boolean
  }
  const settings = await api<readonly Setting[]>(daemon, 'GET', `/zones/${ZONE}/settings`)
  const shown = await page.getByRole('region', { name: 'Settings' }).getByRole('switch').all()
  const names = new Set(await Promise.all(shown.map((toggle) => toggle.getAttribute('aria-label'))))
  const switches = settings.filter(({ id, editable }) => editable && names.has(id))
  t.ok(switches.length > 20, `${switches.length} switches`)
  const read = async () =>
    new Map(
      (await api<readonly Setting[]>(daemon, 'GET', `/zones/${ZONE}/settings`)).map(({ id, value }) => [id, value]),
    )
  for (const { id, value } of switches) {
    const toggle = page.getByRole('switch', { name: id, exact: true })
    await toggle.focus()
    await page.keyboard.press('Space')
    await page.getByText(new RegExp(`^${id} is stored`)).waitFor()
    t.equal((await read()).get(id), value === 'on' ? 'off' : 'on', id)
  }
  await page.reload()
  await open(page, 'Zone')
  for (const { id, value } of switches)
    await page.getByRole('switch', { name: id, exact: true, checked: value !== 'on' }).waitFor()

  const choices = page.getByRole('region', { name: 'Settings' }).getByRole('combobox')
  t.ok((await choices.count()) > 5)
  for (const choice of await choices.all()) {
    const id = (await choice.getAttribute('aria-label'))!
    for (const value of await choice.getByRole('option').allTextContents()) {
      if (value === (await choice.inputValue())) continue
      await choice.selectOption(value)
      await until(async () => (await read()).get(id) === value)
    }
  }
  await page.getByRole('button', { name: 'Change browser_cache_ttl' }).click()
  await page.getByLabel('New value of browser_cache_ttl').fill('7200')
  await page.keyboard.press('Enter')
  await until(async () => (await read()).get('browser_cache_ttl') === 7200)

  const hostnames = async () =>
    await api<readonly { hostname: string; custom_metadata?: object }[]>(
      daemon,
      'GET',
      `/zones/${ZONE}/custom_hostnames`,
    )
  await page.getByLabel('Host name of a customer').fill('docs.customer.test')
  await page.keyboard.press('Enter')
  const mark = page.getByRole('switch', { name: /^Mark docs\.customer\.test/ })
  await mark.click()
  await page.getByRole('switch', { name: /^Mark docs\.customer\.test/, checked: true }).waitFor()
  t.match(await hostnames(), [{ hostname: 'docs.customer.test', custom_metadata: { content_converter: 'enabled' } }])
  const all = page.getByRole('switch', { name: 'Markdown for all custom hostnames' })
  await all.click()
  await page.getByRole('switch', { name: 'Markdown for all custom hostnames', checked: true }).waitFor()
  await page.reload()
  await open(page, 'Zone')
  await page.getByRole('switch', { name: 'Markdown for all custom hostnames', checked: true }).waitFor()
  await page.getByRole('switch', { name: /^Mark docs\.customer\.test/, checked: true }).click()
  await page.getByRole('switch', { name: /^Mark docs\.customer\.test/, checked: false }).waitFor()
  t.same((await hostnames())[0]?.custom_metadata ?? {}, {})
  await page.getByLabel('Show host names that contain').fill('nobody')
  await page.getByText('Nothing matches the search.').waitFor()
  await page.getByLabel('Show host names that contain').fill('')
  await page.getByRole('button', { name: 'Delete docs.customer.test' }).click()
  await page.getByText('No custom hostnames.').waitFor()
  await page.getByRole('button', { name: 'Remove all cached responses' }).click()
  await page.getByText('All cached responses of the zone are removed.').waitFor()
  await accessible(t, page, 'Zone')

  await open(page, 'Audit')
  await page
    .getByRole('row', { name: /delete hostname/ })
    .first()
    .waitFor()
  await accessible(t, page, 'Audit')
})
