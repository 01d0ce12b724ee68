import t from 'tap'
import { until } from '../helpers/web.js'
import { accessible, callApi as api, NO_BROWSER as skip, signedIn, uiOf } from './dashboard.js'
import { configuration, startDaemon, ACCOUNT, ZONE } from './daemon.js'

t.test('a page of the zone is shown beside its Markdown, and so is HTML that one pastes', { skip }, async (t) => {
  const daemon = await startDaemon(t, configuration('demo'))
  const page = await signedIn(t, daemon)
  await page.goto(uiOf(daemon, `z/${ZONE}/markdown?url=/`))
  const markdown = page.getByRole('region', { name: 'Markdown', exact: true })
  await markdown.waitFor()
  t.match(await markdown.textContent(), /#/)
  await page.getByText(/^About [\d,]+ tokens as HTML → [\d,]+ as Markdown/).waitFor()
  await accessible(t, page, 'the preview')
  await page.getByRole('button', { name: 'HTML that you paste' }).click()
  await page.getByLabel('HTML', { exact: true }).fill('<h1>Hello</h1><p>A <b>page</b>.</p>')
  await page.getByRole('button', { name: 'Convert', exact: true }).click()
  await until(async () => (await markdown.textContent())?.includes('A **page**.') === true)
})

t.test('the cache is purged by prefix, and everything after a question', { skip }, async (t) => {
  const daemon = await startDaemon(t, configuration('demo'))
  const page = await signedIn(t, daemon)
  await page.goto(uiOf(daemon, `z/${ZONE}/cache`))
  await page.getByRole('button', { name: 'Prefixes' }).click()
  await page.getByLabel('Prefixes', { exact: true }).fill('other.invalid/images')
  await page.getByRole('button', { name: 'Purge 1 prefix' }).click()
  await page.getByText(/is not a host name of the zone/).waitFor()
  await page.getByLabel('Prefixes', { exact: true }).fill('example.test/images')
  await page.getByRole('button', { name: 'Purge 1 prefix' }).click()
  await page.getByText('1 prefix purged.').waitFor()
  await page.getByRole('button', { name: 'Everything', exact: true }).click()
  await page.getByRole('button', { name: 'Purge everything…' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Purge everything' }).click()
  await page.getByText(/^The cache of .* is empty\.$/).waitFor()
  await accessible(t, page, 'the cache')
})

t.test('a list is created with pasted items, and an item comes back by Undo', { skip }, async (t) => {
  const daemon = await startDaemon(t, configuration('demo'))
  const page = await signedIn(t, daemon)
  await page.goto(uiOf(daemon, `a/${ACCOUNT}/lists/new`))
  const sheet = page.getByRole('dialog')
  await sheet.getByLabel('Name', { exact: true }).fill('office')
  await sheet.getByLabel('Items', { exact: true }).fill('192.0.2.7 # gate\n198.51.100.0/24')
  await sheet.getByRole('button', { name: 'Create' }).click()
  const listsOf = async () =>
    await api<readonly { id: string; num_items: number }[]>(daemon, 'GET', `/accounts/${ACCOUNT}/rules/lists`)
  await until(async () => (await listsOf())[0]?.num_items === 2)
  const [list] = await listsOf()
  const items = async () =>
    (
      await api<readonly { ip: string; comment?: string }[]>(
        daemon,
        'GET',
        `/accounts/${ACCOUNT}/rules/lists/${list!.id}/items`,
      )
    )
      .map(({ ip, comment = '' }) => `${ip} ${comment}`)
      .toSorted()
      .join(', ')
  t.equal(await items(), '192.0.2.7 gate, 198.51.100.0/24 ')
  await page.getByRole('button', { name: 'Remove 192.0.2.7' }).click()
  await until(async () => (await items()) === '198.51.100.0/24 ')
  await page.getByRole('button', { name: 'Undo' }).click()
  await until(async () => (await items()) === '192.0.2.7 gate, 198.51.100.0/24 ')
})
