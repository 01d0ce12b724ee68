import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { finding, instance, ndjson } from '../control/webhooks/helper.js'
import { Receiver } from '../helpers/receiver.js'
import { CA_FILE } from '../helpers/tls.js'
import { until } from '../helpers/web.js'
import { accessible, callApi, NO_BROWSER as skip, signedIn } from './dashboard.js'
import { ACCOUNT, configuration, startDaemon } from './daemon.js'

const POSTURE = `/accounts/${ACCOUNT}/data-security/posture`

t.test('a person creates a webhook, sends a finding, and sends failed deliveries again', { skip }, async (t) => {
  let status = 204
  const receiver = await Receiver.start((_, response) => void response.writeHead(status).end())
  t.teardown(() => receiver.close())
  const daemon = await startDaemon(
    t,
    configuration('demo', {
      egress: {
        allow_cidrs: [`127.0.0.1/32:${receiver.port}`],
        ca_file: CA_FILE,
        resolver_overrides: { 'receiver.test': ['127.0.0.1'] },
      },
      webhooks: { retry_schedule: ['1s'] },
    }),
  )
  const ids = [1, 2].map((number) => `00000000-0000-4000-8000-00000000000${number}`)
  const found = finding(
    'f',
    ids.map((id) => instance(id)),
  )
  await callApi(daemon, 'POST', `/accounts/${ACCOUNT}/edged/findings`, ndjson(found))
  const page = await signedIn(t, daemon)
  const ui = daemon.control.replace(/client\/v4$/, 'ui')

  await page.goto(`${ui}/a/Example/webhooks`)
  await page.getByRole('button', { name: 'New webhook' }).first().click()
  const sheet = page.getByRole('dialog')
  await sheet.getByLabel('Name').fill('Ticket system')
  await sheet.getByLabel('Address').fill('http://receiver.test/')
  await sheet.getByRole('button', { name: 'Create webhook' }).click()
  await sheet.getByRole('alert').first().waitFor()
  await sheet.getByLabel('Address').fill(receiver.url())
  await sheet.getByRole('button', { name: 'Create webhook' }).click()
  await sheet.getByText('It is not shown again.').waitFor()
  const secret = await sheet.getByRole('region', { name: 'Signing secret' }).textContent()
  t.match(secret, /^whsec_/)
  await sheet.getByRole('button', { name: 'I have copied it' }).click()
  await page.getByRole('heading', { name: 'Ticket system', level: 1 }).waitFor()
  await page.getByRole('button', { name: 'Send test' }).click()
  await page.getByText(/Ticket system accepted the test/).waitFor()
  t.ok(receiver.received.at(-1)!.headers['webhook-signature'], 'the test is signed')

  status = 500
  await page.goto(`${ui}/a/Example/findings`)
  await page.getByRole('button', { name: 'Public file' }).click()
  await sheet.getByRole('button', { name: 'Choose all' }).click()
  await sheet.getByRole('button', { name: 'Send 2 instances' }).click()
  await page.getByText('2 instances are sent to Ticket system.').waitFor()
  await accessible(t, page, 'a finding')
  const failed = async () => {
    // The API limits requests of a token.
    await setTimeout(200)
    return (await callApi<readonly unknown[]>(daemon, 'GET', `${POSTURE}/webhooks/jobs?status=failed`)).length
  }
  await until(async () => (await failed()) === 2)

  await page.goto(`${ui}/a/Example/webhooks`)
  await page.getByRole('button', { name: 'Ticket system', exact: true }).click()
  await page.getByText(/failures? in a row|Paused after/).waitFor()
  await page.getByRole('tab', { name: 'Tests' }).click()
  await page.getByRole('button', { name: 'Test', exact: true }).waitFor()
  await page.getByRole('tab', { name: 'Failed' }).click()
  await page
    .getByRole('button', { name: /^Sent by hand · file/ })
    .first()
    .click()
  await sheet.getByRole('region', { name: 'Body' }).getByText('posture.finding_instance').waitFor()
  await sheet.getByText('Try 2', { exact: true }).waitFor()
  await accessible(t, page, 'a delivery')
  await page.keyboard.press('Escape')

  status = 204
  await page.getByRole('button', { name: 'Send failed again…' }).click()
  await page.getByRole('alertdialog').getByText('Send 2 deliveries again?').waitFor()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Send again' }).click()
  await page.getByText('2 deliveries are sent again.').waitFor()
  await until(async () => (await failed()) === 0)

  await page.getByRole('button', { name: 'Rotate' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Rotate' }).click()
  t.not(await sheet.getByRole('region', { name: 'Signing secret' }).textContent(), secret)
  await sheet.getByRole('button', { name: 'I have copied it' }).click()
  await page.getByRole('button', { name: 'More for Ticket system' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await page.getByRole('alertdialog').getByText('Delete webhook Ticket system?').waitFor()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('heading', { name: 'No webhooks' }).waitFor()
})
