import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import t from 'tap'
import { finding, instance, ndjson } from '../control/webhooks/helper.js'
import { testFolder } from '../helpers/folder.js'
import { Receiver } from '../helpers/receiver.js'
import { CA_FILE } from '../helpers/tls.js'
import { until } from '../helpers/web.js'
import { CHROMIUM, NO_BROWSER as skip, openPage as open } from './dashboard.js'
import { ACCOUNT, configuration, startDaemon, TOKEN, ZONE } from './daemon.js'

const RULESETS = `/zones/${ZONE}/rulesets/phases/http_request_firewall_custom/entrypoint`

t.test('a person orders rules, watches records and sends a delivery again', { skip }, async (t) => {
  const receiver = await Receiver.start()
  t.teardown(() => receiver.close())
  const folder = testFolder(t)
  mkdirSync(join(folder, 'logs'))
  const daemon = await startDaemon(
    t,
    configuration('demo', {
      egress: {
        allow_cidrs: [`127.0.0.1/32:${receiver.port}`],
        ca_file: CA_FILE,
        resolver_overrides: { 'receiver.test': ['127.0.0.1'] },
      },
      logpush: { destinations: { allow_file_under: ['./logs'] } },
    }),
    folder,
  )
  const api = async (method: string, path: string, body: string) => {
    const type = body.startsWith('{"id') ? 'application/x-ndjson' : 'application/json'
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': type }
    const response = await fetch(daemon.control + path, { method, headers, ...(body !== '' && { body }) })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return ((await response.json()) as { result: { rules: { description: string }[] } }).result
  }
  const rule = (path: string) => ({
    action: 'block',
    description: path,
    expression: `http.request.uri.path eq "${path}"`,
  })
  await api('PUT', RULESETS, JSON.stringify({ rules: ['/a', '/b', '/c'].map(rule) }))
  await api(
    'POST',
    `/accounts/${ACCOUNT}/edged/findings`,
    ndjson(finding('f', [instance('00000000-0000-4000-8000-000000000001')])),
  )

  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
  t.teardown(() => browser.close())
  const page = await browser.newPage({ viewport: { width: 1200, height: 900 } })
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(error.message))
  await page.goto(`${daemon.control.replace(/\/client\/v4$/, '')}/ui/`)
  await page.getByLabel('API token').fill(TOKEN)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Overview' }).waitFor()

  await open(page, 'Rulesets')
  const order = async (wanted: readonly string[]) =>
    await until(async () => {
      const { rules } = await api('GET', RULESETS, '')
      return rules.map(({ description }) => description).join() === wanted.join()
    })
  await page.getByRole('button', { name: 'Move /c up' }).focus()
  await page.keyboard.press('Enter')
  await order(['/a', '/c', '/b'])
  await page.getByText('Rule 3 is now rule 2 of 3.').waitFor()
  const rows = page.getByRole('list', { name: 'Rules in the order in which they run' }).getByRole('listitem')
  await rows.nth(0).dragTo(rows.nth(2))
  await order(['/c', '/b', '/a'])
  for (const times of [1, 2]) t.equal((await fetch(`${daemon.proxy}/b`)).status, 403, `request ${times}`)
  await rows.filter({ hasText: '/b' }).getByText('2 hits').waitFor()
  await rows.filter({ hasText: '/a' }).getByText('0 hits').waitFor()
  await page.getByRole('button', { name: 'Edit /b' }).click()
  await page.getByRole('textbox', { name: 'Expression', exact: true }).click()
  await page.keyboard.press('Control+A')
  await page.keyboard.insertText('http.request.uri.pa')
  await page.keyboard.press('Control+Space')
  await page.locator('.cm-tooltip-autocomplete').getByText('http.request.uri.path', { exact: true }).waitFor()

  await open(page, 'Log push')
  await page.getByLabel('Destination').fill(`file://${folder}/logs`)
  await page.getByRole('button', { name: 'Test the destination' }).click()
  await page.getByText('The destination accepts records.').waitFor()
  await page.getByRole('button', { name: 'Create the job' }).click()
  await page.getByText('The job is stored and runs.').waitFor()
  await page.getByLabel('Dataset', { exact: true }).selectOption('dns_logs')
  await page.getByLabel('Field of a condition').selectOption('ResponseCode')
  await page.getByLabel('Operator').selectOption('geq')
  await page.getByLabel('Value (int)').fill('2')
  await page.getByRole('button', { name: 'Add to the filter' }).click()
  await page.getByText('Fields: the default fields').click()
  await page.getByRole('checkbox', { name: /^QueryName/ }).check()
  await page.getByLabel('Format of records').selectOption('csv')
  await page.getByRole('button', { name: 'Create the job' }).click()
  await page.getByRole('cell', { name: 'dns_logs' }).waitFor()
  const stored = (await api('GET', `/zones/${ZONE}/logpush/jobs/2`, '')) as object
  t.match(stored, {
    dataset: 'dns_logs',
    filter: '{"where":{"key":"ResponseCode","operator":"geq","value":2}}',
    output_options: { output_type: 'csv', field_names: ['QueryName'] },
  })
  await page.getByLabel('Jobs of', { exact: true }).selectOption('account')
  await page.getByText('No jobs.').waitFor()
  await page.getByLabel('Destination').fill(`file://${folder}/logs`)
  await page.getByRole('button', { name: 'Create the job' }).click()
  await page.getByRole('cell', { name: 'audit_logs_v2' }).waitFor()
  await page
    .getByLabel('Filter of the live records')
    .fill('{"where":{"key":"EdgeResponseStatus","operator":"eq","value":403}}')
  await page.getByRole('button', { name: 'Watch' }).click()
  await page.getByText('Connected.').waitFor()
  const lines = page.getByLabel('Live lines')
  await until(async () => {
    await fetch(`${daemon.proxy}/`)
    await fetch(`${daemon.proxy}/c`)
    return (await lines.count()) > 0
  })
  t.match(await lines.textContent(), '"ClientRequestURI":"/c"')
  t.notMatch(await lines.textContent(), '"ClientRequestURI":"/"', 'the filter acts')

  await open(page, 'Webhooks')
  await page.getByLabel('Label').fill('hook')
  await page.getByLabel('URL').fill(receiver.url())
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('button', { name: 'Test hook' }).click()
  await page.getByText('hook accepts deliveries').waitFor()
  const tests = receiver.received.length
  await page.getByRole('button', { name: /^Instances of/ }).click()
  await page.getByRole('button', { name: /^Send (?!all|delivery)/ }).click()
  await page.getByText('Sent to hook.').waitFor()
  await until(() => receiver.received.length === tests + 1)
  await page.getByRole('button', { name: /^Details of delivery/ }).click()
  await page.getByLabel('Body of the delivery').getByText('posture.finding_instance').waitFor()
  await page.getByRole('button', { name: /^Send delivery .* again/ }).click()
  await until(() => receiver.received.length === tests + 2)
  t.equal(receiver.received.at(-1)?.body, receiver.received.at(-2)?.body, 'the same delivery again')

  await open(page, 'Try it')
  await page.getByRole('button', { name: 'Try', exact: true }).click()
  await page.getByText(/^What was left out and why/).click()
  await page.getByRole('region', { name: 'Left out' }).getByText('footer is never content').first().waitFor()
  t.same(faults, [], 'no error in scripts')
})
