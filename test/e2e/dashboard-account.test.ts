import t from 'tap'
import { until } from '../helpers/web.js'
import { accessible, NO_BROWSER as skip, openPage as open, signedIn } from './dashboard.js'
import { configuration, startDaemon } from './daemon.js'

t.test('tokens: made from a template, shown once, rolled, switched off, revoked', { skip }, async (t) => {
  const daemon = await startDaemon(t, configuration('demo'))
  const page = await signedIn(t, daemon)
  const verify = async (secret: string) =>
    (await fetch(`${daemon.control}/user/tokens/verify`, { headers: { authorization: `Bearer ${secret}` } })).status
  await open(page, 'Tokens')
  await page.getByRole('button', { name: 'New token' }).first().click()
  await page.getByLabel('Name').fill('ci-logs')
  await page.getByRole('radio', { name: /^Log shipping/ }).check()
  await page.getByRole('button', { name: 'Create token' }).click()
  const secret = ((await page.getByRole('region', { name: 'Secret' }).textContent()) ?? '').trim()
  t.equal(await verify(secret), 200, 'the secret works')
  await page.getByRole('button', { name: 'Close' }).click()

  await page.getByRole('button', { name: 'ci-logs' }).click()
  await page.getByText('Logs Write').waitFor()
  await page.getByRole('switch', { name: 'ci-logs is active' }).click()
  await until(async () => (await verify(secret)) !== 200)
  await page.getByRole('switch', { name: 'ci-logs is active' }).click()
  await until(async () => (await verify(secret)) === 200)
  await page.getByRole('button', { name: 'Roll' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Roll' }).click()
  const rolled = ((await page.getByRole('region', { name: 'Secret' }).textContent()) ?? '').trim()
  t.not(rolled, secret)
  t.not(await verify(secret), 200, 'the old secret is refused')
  t.equal(await verify(rolled), 200)
  await page.getByRole('button', { name: 'Close' }).click()
  await page.getByRole('button', { name: 'ci-logs' }).click()
  await page.getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Cancel' }).click()
  t.equal(await verify(rolled), 200, 'Cancel changes nothing')
  await page.getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByText('ci-logs is revoked.').waitFor()
  t.not(await verify(rolled), 200)
  await accessible(t, page, 'tokens')
})
