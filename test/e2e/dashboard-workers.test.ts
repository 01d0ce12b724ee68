import t from 'tap'
import { findWorkerd } from '../../src/workers/runtime/binary.js'
import { ask, until } from '../helpers/web.js'
import { accessible, NO_BROWSER, openPage, signedIn } from './dashboard.js'
import { configuration, startDaemon } from './daemon.js'
import { call } from './worker-client.js'

const skip = NO_BROWSER || (findWorkerd() === undefined && 'the npm package workerd is not installed')

const moduleOf = (text: string) => ({
  name: 'hello.js',
  mimeType: 'text/javascript',
  buffer: Buffer.from(
    `export default { fetch(request) { console.log('seen', request.url); return new Response('${text}') } }`,
  ),
})

t.test('a person uploads a Worker, gives it a domain, splits its traffic and watches it', { skip }, async (t) => {
  const base = configuration('demo') as { zones: object[] }
  const zones = base.zones.map((zone) => ({ ...zone, hostnames: ['example.test', '*.example.test'] }))
  const daemon = await startDaemon(t, { ...base, zones })
  const page = await signedIn(t, daemon)
  await openPage(page, 'Workers')
  await page.getByText('Upload a script', { exact: true }).focus()
  await page.keyboard.press('Enter')
  await page.getByLabel('Name of the script').fill('hello')
  await page.getByLabel('ES module').setInputFiles({ ...moduleOf('x'), buffer: Buffer.from('export default {') })
  await page.getByRole('button', { name: 'Upload and deploy' }).click()
  await page.getByRole('alert').first().waitFor()
  for (const [at, text] of ['one', 'two'].entries()) {
    await page.getByLabel('ES module').setInputFiles(moduleOf(text))
    await page.getByRole('button', { name: 'Upload and deploy' }).click()
    await page.getByText('hello is stored and deployed').waitFor()
    await until(async () => {
      const { result } = await call<{ items: unknown[] }>(daemon, 'GET', '/scripts/hello/versions')
      return result.items.length === at + 1
    })
  }

  await page.getByLabel('Host name of the Worker').fill('elsewhere.test')
  await page.getByRole('button', { name: 'Add the domain' }).click()
  await page.getByRole('alert').first().waitFor()
  await page.getByLabel('Host name of the Worker').fill('hello.example.test')
  await page.keyboard.press('Enter')
  await page.getByRole('row', { name: /hello\.example\.test/ }).waitFor()
  const port = Number(new URL(daemon.proxy).port)
  const visit = async (client = 'a') =>
    (
      await ask(port, '/', { headers: { host: 'hello.example.test', 'cloudflare-workers-version-key': client } })
    ).body.toString()
  t.equal(await visit(), 'two')

  await page.getByRole('button', { name: 'Details of hello' }).click()
  await page.getByRole('region', { name: 'Deployments' }).getByText('2: 100 %').waitFor()
  await accessible(t, page, 'Workers')
  await page.getByLabel('Share of version 1 in percent').fill('70')
  await page.getByRole('button', { name: 'Deploy these shares' }).click()
  await page.getByRole('alert').first().waitFor()
  await page.getByLabel('Share of version 2 in percent').fill('30')
  await page.keyboard.press('Enter')
  await page
    .getByRole('region', { name: 'Deployments' })
    .getByText(/1: 70 %/)
    .waitFor()
  const seen = new Set<string>()
  for (let client = 0; client < 60; client += 1) seen.add(await visit(String(client)))
  t.same([...seen].toSorted(), ['one', 'two'], 'clients get both versions')

  await page.getByRole('button', { name: 'Watch' }).click()
  await page.getByText('Connected.').waitFor()
  await until(async () => {
    await visit()
    return (await page.getByLabel('Live lines').count()) > 0
  })
  t.match(await page.getByLabel('Live lines').textContent(), /"seen"/)
  await accessible(t, page, 'Workers with a tail')
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.getByText(/^Not connected\./).waitFor()

  await page.getByRole('button', { name: 'Remove hello.example.test' }).click()
  await page.getByText('No custom domains.').waitFor()
  t.not(await visit(), 'two', 'the domain is removed')
})
