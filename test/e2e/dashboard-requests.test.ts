import t from 'tap'
import { ask, until } from '../helpers/web.js'
import { accessible, NO_BROWSER as skip, openPage, signedIn, uiOf } from './dashboard.js'
import { ACCOUNT, configuration, startDaemon, type Daemon } from './daemon.js'

const GPTBOT = 'Mozilla/5.0 (compatible; GPTBot/1.2)'
const LOST = 'b0000000000000000000000000000001'

/** Two zones: the sample site, and one whose origin does not answer. */
function two(): object {
  const base = configuration('demo') as { zones: object[] }
  const lost = { id: LOST, account: ACCOUNT, name: 'lost.test', origin: 'http://127.0.0.1:9' }
  return { ...base, zones: [...base.zones, lost] }
}

const visit = async (daemon: Daemon, path: string, headers: Record<string, string> = {}) =>
  await ask(Number(new URL(daemon.proxy).port), path, { accept: 'text/html', headers })

t.test('a person sees on the overview what is wrong, and looks at it closer', { skip }, async (t) => {
  const daemon = await startDaemon(t, two())
  for (const path of ['/', '/none', '/signals.html']) await visit(daemon, path, { 'user-agent': GPTBOT })
  await visit(daemon, '/', { host: 'lost.test' })
  const page = await signedIn(t, daemon)
  await page.goto(uiOf(daemon, `a/${ACCOUNT}/overview`))
  await page.getByRole('region', { name: 'Zones' }).getByRole('link', { name: 'lost.test' }).waitFor()
  await page.getByRole('heading', { name: /^Needs attention/ }).waitFor()
  await accessible(t, page, 'Overview of all zones')
  await page
    .getByRole('listitem')
    .filter({ hasText: 'lost.test' })
    .getByRole('link', { name: /^Open / })
    .first()
    .click()
  await page.waitForURL(/\/z\/lost\.test\/(origins|certificates)/)

  await page.goto(uiOf(daemon, 'z/example.test/overview'))
  const chart = page.getByRole('figure', { name: 'Requests/s by status' })
  await chart.getByRole('button', { name: '4xx 1' }).click()
  await chart.getByRole('button', { name: '4xx 1', pressed: true }).waitFor()
  await chart.getByRole('button', { name: 'Table of Requests/s by status' }).click()
  await chart.getByRole('columnheader', { name: '4xx' }).waitFor()
  t.equal(await chart.getByRole('columnheader').count(), 2, 'the time and the chosen line')
  await chart.getByRole('button', { name: 'Chart of Requests/s by status' }).click()
  const plot = (await chart.getByRole('img').boundingBox())!
  await page.mouse.move(plot.x + plot.width * 0.4, plot.y + 40)
  await page.mouse.down()
  await page.mouse.move(plot.x + plot.width * 0.7, plot.y + 40, { steps: 4 })
  await page.mouse.up()
  await page.waitForURL(/since=.*until=/)
  await page.goBack()
  await page.getByRole('link', { name: 'GPTBot' }).click()
  await page.getByRole('dialog', { name: 'GPTBot' }).waitFor()
})

t.test('a person finds a request and makes something from it', { skip }, async (t) => {
  const daemon = await startDaemon(t, configuration('demo'))
  for (const path of ['/', '/none', '/signals.html']) await visit(daemon, path)
  const page = await signedIn(t, daemon)
  await openPage(page, 'Requests')
  const rows = page.locator('tr[data-row]')
  await page.getByRole('button', { name: 'Live' }).waitFor()
  await until(async () => (await rows.count()) === 3)
  const { headers } = await visit(daemon, '/none')
  await until(async () => (await rows.count()) === 4)
  await accessible(t, page, 'Requests')
  await rows.first().getByRole('button', { name: '404', exact: true }).click()
  await page.waitForURL(/status=404/)
  await until(async () => (await rows.count()) === 2)
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await page.getByLabel('Search path, ray id, IP').fill('signals')
  await until(async () => (await rows.count()) === 1)

  await page.getByLabel('Search path, ray id, IP').fill(String(headers['cf-ray']))
  const sheet = page.getByRole('dialog', { name: 'GET example.test/none · 404' })
  await sheet.getByText('Where the time went').waitFor()
  await sheet.getByRole('listitem').filter({ hasText: 'Origin' }).getByText('404').waitFor()
  await sheet.getByRole('button', { name: 'Copy as curl' }).waitFor()
  await accessible(t, page, 'a request')
  const rule = new URL(
    (await sheet.getByRole('link', { name: 'Make a rule from this' }).getAttribute('href'))!,
    'http://a',
  )
  t.match(rule.pathname, /rules\/http_request_firewall_custom\/new$/)
  t.equal(
    rule.searchParams.get('expression'),
    'http.host eq "example.test" and http.request.uri.path eq "/none" and ip.src eq 127.0.0.1',
  )
  const trace = new URL((await sheet.getByRole('link', { name: 'Trace' }).getAttribute('href'))!, 'http://a')
  t.equal(trace.searchParams.get('trace_url'), 'http://example.test/none')
  await page.keyboard.press('Escape')
  await sheet.waitFor({ state: 'detached' })
  t.notMatch(page.url(), /requests\//)
})

t.test('a person blocks an agent with one click, and takes it back', { skip }, async (t) => {
  const base = configuration('demo') as { zones: object[] }
  const access = [{ who: { name: 'CCBot' }, do: 'block' }]
  const daemon = await startDaemon(t, { ...base, zones: [{ ...base.zones[0], agents: { access } }] })
  const asBot = async (): Promise<number> => (await visit(daemon, '/', { 'user-agent': GPTBOT })).status
  t.equal(await asBot(), 200)
  t.equal((await visit(daemon, '/', { 'user-agent': 'CCBot/2.0 (https://commoncrawl.org/faq/)' })).status, 403)
  const page = await signedIn(t, daemon)
  await openPage(page, 'Agents')
  const ofFile = page.getByRole('row').filter({ hasText: 'CCBot' })
  await ofFile.getByText(/From edged\.yaml:\d+/).waitFor()
  t.equal(await ofFile.getByRole('button', { name: 'Block CCBot' }).count(), 0, 'the file has this access')
  await page.getByRole('button', { name: 'Block GPTBot' }).click()
  await page.getByText('GPTBot is blocked.').first().waitFor()
  t.equal(await asBot(), 403)
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText('Undone.').first().waitFor()
  t.equal(await asBot(), 200)
  await page.getByRole('button', { name: 'Block GPTBot' }).click()
  await page.getByRole('button', { name: 'Open rule' }).last().click()
  await page.waitForURL(/\/rules\/http_request_firewall_custom\/[0-9a-f]{32}/)
  await page.goBack()
  await page.getByRole('button', { name: 'GPTBot', exact: true }).click()
  const sheet = page.getByRole('dialog', { name: 'GPTBot' })
  await sheet.getByText('Blocked').first().waitFor()
  await sheet.getByRole('button', { name: 'Pay', exact: true }).click()
  await sheet.getByText('price: USD 0.01').waitFor()
  await accessible(t, page, 'an agent')
})
