import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { testFolder } from '../helpers/folder.js'
import { until } from '../helpers/web.js'
import { accessible, callApi as api, NO_BROWSER as skip, openPage as open, signedIn } from './dashboard.js'
import { configuration, startDaemon, ZONE, type Daemon } from './daemon.js'

interface Setting {
  readonly id: string
  readonly title: string
  readonly type: string
  readonly value: unknown
  readonly editable: boolean
  readonly acts: boolean
}

const settingsOf = async (daemon: Daemon) => {
  const settings = await api<readonly Setting[]>(daemon, 'GET', `/zones/${ZONE}/edged/settings`)
  return new Map(settings.map((one) => [one.id, one]))
}

async function everySwitch(t: Test, daemon: Daemon, page: Page): Promise<void> {
  const settings = [...(await settingsOf(daemon)).values()]
  const switches = settings.filter(({ type, editable }) => type === 'switch' && editable)
  t.ok(switches.length > 20, `${switches.length} switches`)
  for (const { id, title, value } of switches) {
    await page.getByRole('switch', { name: title, exact: true }).click()
    const wanted = value === 'on' ? 'off' : 'on'
    await until(async () => (await settingsOf(daemon)).get(id)?.value === wanted)
    t.pass(`${title} is ${wanted}`)
  }
}

t.test('settings by topic: a switch is stored, undone, and the same after a reload', { skip }, async (t) => {
  const daemon = await startDaemon(t, configuration('demo'))
  const page = await signedIn(t, daemon)
  await open(page, 'Settings')
  const always = page.getByRole('switch', { name: 'Always online', exact: true })
  await always.click()
  await page.getByText('Always online is on.').waitFor()
  t.equal((await settingsOf(daemon)).get('always_online')?.value, 'on')
  await page.getByRole('button', { name: 'Undo' }).click()
  await until(async () => (await settingsOf(daemon)).get('always_online')?.value === 'off')
  await page.getByRole('switch', { name: 'Always online', exact: true, checked: false }).waitFor()

  t.notOk(await page.getByRole('switch', { name: 'Rocket loader' }).isVisible(), 'inert settings are folded away')
  await page.getByText(/^Stored without effect \(\d+\)$/).click()
  await page.getByRole('switch', { name: 'Rocket loader' }).click()
  await page.getByText('Rocket loader is saved, but edged does not act on it.').waitFor()
  await everySwitch(t, daemon, page)

  await page.getByLabel('Minimum TLS version').selectOption('1.3')
  await until(async () => (await settingsOf(daemon)).get('min_tls_version')?.value === '1.3')
  await page.getByLabel('Browser cache TTL').fill('7200')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await until(async () => (await settingsOf(daemon)).get('browser_cache_ttl')?.value === 7200)

  await page.getByRole('button', { name: 'Edit HSTS' }).click()
  t.match(new URL(page.url()).pathname, /\/settings\/HTTPS\/security_header$/, 'the sheet has an address')
  await page.getByLabel('Enabled').check()
  await page.getByLabel('Max age, in seconds').fill('86400')
  await accessible(t, page, 'a sheet')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('HSTS is saved.').waitFor()
  const stored = (await settingsOf(daemon)).get('security_header')?.value
  t.match(stored, { strict_transport_security: { enabled: true, max_age: 86_400 } })

  await page.reload()
  await page.getByLabel('Find a setting').fill('tls')
  t.equal(await page.getByLabel('Minimum TLS version').inputValue(), '1.3')
  t.match(page.url(), /find=tls/, 'the search is in the address')
  await accessible(t, page, 'settings')
})

t.test('host names of customers: added, marked for Markdown, deleted, and back by Undo', { skip }, async (t) => {
  const daemon = await startDaemon(t, configuration('demo'))
  const page = await signedIn(t, daemon)
  const names = async () =>
    await api<readonly { hostname: string; custom_metadata?: object }[]>(
      daemon,
      'GET',
      `/zones/${ZONE}/custom_hostnames`,
    )
  await open(page, 'Host names')
  await page.getByRole('button', { name: 'Add host name' }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Host name').fill('not a name')
  await dialog.getByRole('button', { name: 'Add host name' }).click()
  await dialog.locator('input[aria-invalid=true]').waitFor()
  await dialog.locator('input:focus[aria-invalid=true]').waitFor()
  await dialog.getByLabel('Host name').fill('docs.customer.test')
  await dialog.getByRole('button', { name: 'Add host name' }).click()
  await page.getByText('docs.customer.test is added.').waitFor()
  t.match(await names(), [{ hostname: 'docs.customer.test', custom_metadata: { content_converter: 'enabled' } }])
  await page.getByRole('switch', { name: 'Markdown for docs.customer.test' }).click()
  await until(async () => !('content_converter' in ((await names())[0]?.custom_metadata ?? {})))
  await page.getByRole('button', { name: 'Actions for docs.customer.test' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await page.getByText('docs.customer.test is deleted.').waitFor()
  t.same(await names(), [])
  await page.getByRole('button', { name: 'Undo' }).click()
  await until(async () => (await names()).length === 1)
  await accessible(t, page, 'host names')
})

t.test('certificates: what is missing comes first, with the lines to write', { skip }, async (t) => {
  const folder = testFolder(t)
  const pem = ['-keyout', join(folder, 'site.key'), '-out', join(folder, 'site.crt')]
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '5']
  execFileSync(
    'openssl',
    ['req', '-x509', ...key, ...pem, '-subj', '/CN=example.test', '-addext', 'subjectAltName=DNS:example.test'],
    { stdio: 'ignore' },
  )
  const certificates = [{ cert_file: './site.crt', key_file: './site.key' }]
  const base = configuration('demo') as { zones: readonly object[] }
  const zones = [{ ...base.zones[0], hostnames: ['example.test', 'shop.example.test'] }]
  const config = { ...base, zones, proxy: { listen: '127.0.0.1:0', tls: { listen: '127.0.0.1:0', certificates } } }
  const daemon = await startDaemon(t, config, folder)
  const page = await signedIn(t, daemon)
  await open(page, 'Certificates')
  await page.getByText('No certificate: shop.example.test').waitFor()
  await page.getByText(/[45] days$/).waitFor()
  await page.getByRole('button', { name: 'Show the lines to write' }).click()
  t.match(await page.getByRole('region', { name: 'Lines for ACME' }).textContent(), /acme:/)
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await accessible(t, page, 'certificates')

  await open(page, 'Origins')
  await page.getByRole('cell', { name: 'Not asked yet' }).waitFor()
  t.equal(await page.getByRole('cell', { name: 'Up' }).count(), 0, '"up" is not said of an origin that nobody asked')
})
