import t from 'tap'
import { findWorkerd } from '../../src/workers/runtime/binary.js'
import { ask, until } from '../helpers/web.js'
import { accessible, NO_BROWSER, signedIn } from './dashboard.js'
import { configuration, startDaemon } from './daemon.js'
import { call } from './worker-client.js'

const skip = NO_BROWSER || (findWorkerd() === undefined && 'the npm package workerd is not installed')

const moduleOf = (text: string) => ({
  name: 'hello.js',
  mimeType: 'text/javascript',
  buffer: Buffer.from(`export default {
    fetch(request, env) { console.log('seen', request.url); return new Response('${text}' + (env.NAME ?? '')) },
    scheduled() { console.log('tick') },
  }`),
})

t.test('a person uploads a Worker, gives it a domain, splits its traffic and watches it', { skip }, async (t) => {
  const base = configuration('demo') as { zones: object[] }
  const zones = base.zones.map((zone) => ({ ...zone, hostnames: ['example.test', '*.example.test'] }))
  const daemon = await startDaemon(t, { ...base, zones })
  const page = await signedIn(t, daemon)
  const ui = daemon.control.replace(/client\/v4$/, 'ui')
  const sheet = page.getByRole('dialog')
  const upload = sheet.getByRole('button', { name: 'Upload and deploy' })
  const tab = async (name: string) => {
    await page.getByRole('tab', { name, exact: true }).click()
  }

  await page.goto(`${ui}/a/Example/workers`)
  await page.getByRole('button', { name: 'Upload a Worker' }).first().click()
  await sheet.getByLabel('Name').fill('hello')
  await sheet.getByLabel('Modules').setInputFiles({ ...moduleOf('x'), buffer: Buffer.from('export default {') })
  await upload.click()
  await sheet.getByRole('alert').first().waitFor()
  await sheet.getByLabel('Modules').setInputFiles(moduleOf('one'))
  await upload.click()
  await page.getByRole('heading', { name: 'hello', level: 1 }).waitFor()

  await tab('Settings')
  await page.getByLabel('Variable', { exact: true }).fill('NAME')
  await page.getByLabel('Value', { exact: true }).fill('!')
  await page.getByRole('button', { name: 'Set variable' }).click()
  await page.getByRole('region', { name: 'Variables' }).getByText('NAME', { exact: true }).waitFor()
  await page.getByLabel('Secret', { exact: true }).fill('KEY')
  await page.getByLabel('Secret value').fill('not to be read')
  await page.getByRole('button', { name: 'Store secret' }).click()
  await page.getByRole('region', { name: 'Secrets' }).getByText('KEY', { exact: true }).waitFor()
  await accessible(t, page, 'the settings of a Worker')

  await page.getByRole('button', { name: 'Upload', exact: true }).click()
  await sheet.getByLabel('Modules').setInputFiles(moduleOf('two'))
  await upload.click()
  await page.getByText('hello is deployed.').waitFor()
  const { result } = await call<{ bindings: { name: string }[] }>(daemon, 'GET', '/scripts/hello/settings')
  t.same(result.bindings.map(({ name }) => name).toSorted(), ['KEY', 'NAME'], 'an upload keeps the bindings')

  await tab('Triggers')
  await page.getByLabel('New domain').fill('elsewhere.test')
  await page.getByRole('button', { name: 'Add domain' }).click()
  await page.getByRole('alert').first().waitFor()
  await page.getByLabel('New domain').fill('hello.example.test')
  await page.keyboard.press('Enter')
  await page.getByRole('region', { name: 'Domains' }).getByText('hello.example.test').waitFor()
  await page.getByLabel('New schedule').fill('0 0 1 1 *')
  await page.getByRole('button', { name: 'Add schedule' }).click()
  await page.getByRole('button', { name: 'Run now' }).click()
  await page.getByText('hello has run.').waitFor()
  await accessible(t, page, 'the triggers of a Worker')
  const port = Number(new URL(daemon.proxy).port)
  const visit = async (client = 'a') =>
    (
      await ask(port, '/', { headers: { host: 'hello.example.test', 'cloudflare-workers-version-key': client } })
    ).body.toString()
  t.equal(await visit(), 'two!')

  await tab('Versions')
  await page.getByLabel('Share of version 1 in percent').fill('70')
  await page.getByText(/not 100 %/).waitFor()
  await page.getByLabel('Share of version 4 in percent').fill('30')
  await page.getByRole('button', { name: 'Deploy these shares' }).click()
  await page.getByText('Version 1: secrets have changed since that version was created').waitFor()
  await page.getByLabel('Share of version 1 in percent').fill('')
  await page.getByLabel('Share of version 3 in percent').fill('70')
  await page.getByRole('button', { name: 'Deploy these shares' }).click()
  await page
    .getByRole('region', { name: 'Deployments' })
    .getByText(/version 3: 70 %/)
    .waitFor()
  const seen = new Set<string>()
  for (let client = 0; client < 60; client += 1) seen.add(await visit(String(client)))
  t.same([...seen].toSorted(), ['one!', 'two!'], 'clients get both versions')
  await accessible(t, page, 'the versions of a Worker')
  await page.getByRole('button', { name: 'Roll back' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Roll back' }).click()
  await page.getByText('Rolled back.').waitFor()
  await until(async () => (await visit('b')) === 'two!')

  await tab('Logs')
  await page.getByText(/● Live$/).waitFor()
  const calls = page.getByRole('list', { name: 'Live calls' })
  await until(async () => {
    await visit()
    return (await calls.count()) > 0
  })
  await calls.getByText('GET /').first().click()
  await calls
    .getByText(/log: seen/)
    .first()
    .waitFor()
  await accessible(t, page, 'the calls of a Worker')

  await tab('Code')
  await page.getByRole('region', { name: 'Code of hello.js' }).getByText("new Response('two'").waitFor()
  await tab('Triggers')
  await page.getByRole('button', { name: 'Remove hello.example.test' }).click()
  await page.getByText('No domains.').waitFor()
  t.not(await visit(), 'two!', 'the domain is removed')
})
