import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import t from 'tap'
import { accessible, callApi as api, NO_BROWSER as skip, openPage as open, signedIn } from './dashboard.js'
import { ACCOUNT, configuration, startDaemon, ZONE } from './daemon.js'

t.test('tokens: made from a template, shown once, rolled, switched off, revoked', { skip }, async (t) => {
  const daemon = await startDaemon(t, configuration('demo'))
  const page = await signedIn(t, daemon)
  // The status of the token, or the status of a response that refuses the token.
  const verify = async (secret: string): Promise<unknown> => {
    const headers = { authorization: `Bearer ${secret}` }
    const response = await fetch(`${daemon.control}/user/tokens/verify`, { headers })
    const { result } = (await response.json()) as { result?: { status?: string } | null }
    return result?.status ?? response.status
  }
  await open(page, 'Tokens')
  await page.getByRole('button', { name: 'New token' }).first().click()
  await page.getByLabel('Name').fill('ci-logs')
  await page.getByRole('radio', { name: /^Log shipping/ }).check()
  await page.getByRole('button', { name: 'Create token' }).click()
  const secret = ((await page.getByRole('region', { name: 'Secret' }).textContent()) ?? '').trim()
  t.equal(await verify(secret), 'active', 'the secret works')
  await page.locator('header').getByRole('button', { name: 'Close' }).click()

  await page.getByRole('button', { name: 'ci-logs' }).click()
  await page.getByText('Logs Write').waitFor()
  await page.getByRole('switch', { name: 'ci-logs is active' }).click()
  await page.getByText('ci-logs is off.').waitFor()
  t.equal(await verify(secret), 'disabled')
  await page.getByRole('switch', { name: 'ci-logs is active' }).click()
  await page.getByText('ci-logs is on.').waitFor()
  t.equal(await verify(secret), 'active', 'on again')
  await page.getByRole('button', { name: 'Roll' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Roll' }).click()
  const rolled = ((await page.getByRole('region', { name: 'Secret' }).textContent()) ?? '').trim()
  t.not(rolled, secret)
  t.not(await verify(secret), 'active', 'the old secret is refused')
  t.equal(await verify(rolled), 'active')
  await page.locator('header').getByRole('button', { name: 'Close' }).click()
  await page.getByRole('button', { name: 'ci-logs' }).click()
  await page.getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Cancel' }).click()
  t.equal(await verify(rolled), 'active', 'Cancel changes nothing')
  await page.getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByText('ci-logs is revoked.').waitFor()
  t.not(await verify(rolled), 'active')
  await accessible(t, page, 'tokens')
})

t.test('zones: added with a check of the origin, changed, deleted after typing the name', { skip }, async (t) => {
  const server = createServer((_request, response) => response.end('hello')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const daemon = await startDaemon(t, configuration('demo', { egress: { allow_cidrs: [`127.0.0.1/32:${port}`] } }))
  const page = await signedIn(t, daemon)
  await open(page, 'Zones')
  await page.getByRole('button', { name: 'Add zone' }).click()
  await page.getByLabel('Host name').fill('shop.test')
  await page.getByLabel('Origin').fill('http://10.0.0.1:80')
  await page.getByRole('dialog').getByRole('button', { name: 'Add zone' }).click()
  await page.getByText(/the address is not allowed; .*egress\.allow_cidrs/).waitFor()
  await page.getByLabel('Origin').fill(`http://127.0.0.1:${port}`)
  await page.getByRole('dialog').getByRole('button', { name: 'Add zone' }).click()
  await page.getByRole('heading', { name: 'shop.test is added' }).waitFor()
  await page.getByRole('button', { name: 'Check the origin' }).click()
  await page.getByText('The first page answered 200').waitFor()
  await accessible(t, page, 'a new zone')
  await page.locator('header').getByRole('button', { name: 'Close' }).click()

  await page.getByRole('button', { name: 'shop.test' }).click()
  await page.getByLabel('Pause').check()
  await page.keyboard.press('Escape')
  await page.getByRole('alertdialog').getByRole('button', { name: 'Cancel' }).click()
  t.ok(await page.getByLabel('Pause').isChecked(), 'a draft is not lost without a question')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('shop.test is saved.').waitFor()
  await page.getByRole('cell', { name: 'Paused' }).waitFor()
  await page.getByRole('button', { name: 'shop.test' }).click()
  await page.getByRole('button', { name: 'Delete' }).click()
  const confirm = page.getByRole('alertdialog')
  t.ok(await confirm.getByRole('button', { name: 'Delete zone' }).isDisabled(), 'the name has to be typed first')
  await confirm.getByRole('textbox').fill('shop.test')
  await confirm.getByRole('button', { name: 'Delete zone' }).click()
  await page.getByText('shop.test is deleted.').waitFor()
  const zones = await api<readonly { name: string }[]>(daemon, 'GET', '/zones')
  t.same(
    zones.map(({ name }) => name),
    ['example.test'],
  )

  await page.getByRole('button', { name: 'example.test' }).first().click()
  await page.getByRole('dialog').getByText('Defined in').waitFor()
  t.equal(await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).count(), 0, 'the file owns it')
})

t.test('audit: who changed which value, with filters in the address', { skip }, async (t) => {
  const daemon = await startDaemon(t, configuration('demo'))
  const rule = { action: 'block', description: 'No entry', expression: 'http.request.uri.path eq "/private"' }
  const phase = `/zones/${ZONE}/rulesets/phases/http_request_firewall_custom/entrypoint`
  await api(daemon, 'PUT', phase, { rules: [rule] })
  await api(daemon, 'PUT', phase, { rules: [{ ...rule, action: 'log' }] })
  await api(daemon, 'POST', `/accounts/${ACCOUNT}/rules/lists`, { name: 'office', kind: 'ip' })
  await api(daemon, 'PATCH', `/zones/${ZONE}/settings/content_converter`, { value: 'off' })
  const page = await signedIn(t, daemon)
  await open(page, 'Audit')
  await page.getByRole('cell', { name: 'changed setting “Markdown for agents” in example.test', exact: true }).waitFor()
  await page.getByRole('cell', { name: 'created list “office”', exact: true }).waitFor()
  await page.getByLabel('What').selectOption('list')
  await page.getByRole('cell', { name: /rule/ }).first().waitFor({ state: 'detached' })
  t.match(page.url(), /what=list/)
  await page.getByLabel('What').selectOption('')
  await page
    .getByRole('button', { name: /ruleset/ })
    .first()
    .click()
  const values = page.getByRole('region', { name: 'Values' })
  await values.getByRole('row', { name: /action block log/ }).waitFor()
  await accessible(t, page, 'audit')
})
