import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { finding, instance, ndjson } from '../control/webhooks/helper.js'
import { testFolder } from '../helpers/folder.js'
import { Receiver } from '../helpers/receiver.js'
import { CA_FILE, SERVER_TLS } from '../helpers/tls.js'
import { ask, until } from '../helpers/web.js'
import { accessible, callApi as api, NO_BROWSER as skip, openPage as open, signedIn } from './dashboard.js'
import { ACCOUNT, configuration, startDaemon, ZONE } from './daemon.js'

// Main content has at least 100 words; a shorter page is converted whole.
const WORDS = 'Words of the page. '.repeat(60).trim()
const HTML = `<nav><a href="/">Home</a></nav><main><h1>Title</h1><p>${WORDS}</p></main><aside><p>Aside.</p></aside><footer>Foot</footer>`

t.test('a person tries a page and pasted HTML, whole and main content only', { skip }, async (t) => {
  const daemon = await startDaemon(t, configuration('demo'))
  const page = await signedIn(t, daemon)
  const markdown = page.getByLabel('Markdown', { exact: true })
  await open(page, 'Try it')
  await page.getByLabel('Path').fill('/signals.html')
  await page.keyboard.press('Enter')
  await markdown.getByText('|').first().waitFor()
  const direct = (await ask(Number(new URL(daemon.proxy).port), '/signals.html')).body.toString()
  t.equal(await markdown.textContent(), direct, 'what clients get')
  await page.getByText(/^HTML about [\d,]+ tokens, Markdown about [\d,]+ \(/).waitFor()
  await page
    .getByRole('region', { name: 'Header fields: For agents' })
    .getByText('text/markdown; charset=utf-8')
    .waitFor()
  await page.getByRole('region', { name: 'Header fields: For browsers' }).getByText('text/html').first().waitFor()
  const frame = page.frameLocator('iframe[title="The page without styles and scripts"]')
  await frame.getByRole('heading').first().waitFor()
  await page.getByText(/^What was left out and why/).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('region', { name: 'Left out' }).getByRole('row').nth(1).waitFor()
  await accessible(t, page, 'Try it, a page')

  await page.getByLabel('What to convert').selectOption('html')
  await page.getByLabel('HTML', { exact: true }).fill(HTML)
  await page.getByRole('button', { name: 'Convert' }).click()
  await markdown.getByText('Aside.').waitFor()
  await page.getByLabel('Content', { exact: true }).selectOption('main')
  await until(async () => (await markdown.textContent()) === `# Title\n\n${WORDS}\n`)
  await page.getByText(/^What was left out and why/).click()
  await page.getByRole('region', { name: 'Left out' }).getByText('footer').first().waitFor()
  await accessible(t, page, 'Try it, HTML')
})

t.test('a person sees jobs, pipelines, certificates and failed deliveries', { skip }, async (t) => {
  let status = 500
  const receiver = await Receiver.start((_, response) => void response.writeHead(status).end('busy'))
  t.teardown(() => receiver.close())
  const folder = testFolder(t)
  for (const name of ['logs', 'own']) mkdirSync(join(folder, name))
  writeFileSync(join(folder, 'a.crt'), SERVER_TLS.cert)
  writeFileSync(join(folder, 'a.key'), SERVER_TLS.key)
  const base = configuration('demo') as { zones: object[] }
  const daemon = await startDaemon(
    t,
    {
      ...base,
      zones: base.zones.map((zone) => ({ ...zone, hostnames: ['example.test', '127.0.0.1', 'receiver.test'] })),
      proxy: { tls: { listen: '127.0.0.1:0', certificates: [{ cert_file: './a.crt', key_file: './a.key' }] } },
      pipelines: [{ name: 'own', source: { zone: ZONE }, dataset: 'http_requests', destination_conf: 'file:./own' }],
      egress: {
        allow_cidrs: [`127.0.0.1/32:${receiver.port}`],
        ca_file: CA_FILE,
        resolver_overrides: { 'receiver.test': ['127.0.0.1'] },
      },
      logpush: { destinations: { allow_file_under: ['./logs'] } },
      webhooks: { retry_schedule: ['1h'] },
    },
    folder,
  )
  await api(
    daemon,
    'POST',
    `/accounts/${ACCOUNT}/edged/findings`,
    ndjson(finding('f', [instance('00000000-0000-4000-8000-000000000001')])),
  )
  const page = await signedIn(t, daemon)

  await open(page, 'Log push')
  await page.getByLabel('Destination').fill(`file://${folder}/elsewhere`)
  await page.getByRole('button', { name: 'Test the destination' }).click()
  await page.getByText(/^The destination does not work: /).waitFor()
  await page.getByLabel('Name', { exact: true }).fill('to a server')
  await page.getByLabel('Destination').fill(`${receiver.url()}?header_Authorization=hunter2`)
  await page.getByRole('button', { name: 'Create the job' }).click()
  await page.getByRole('alert').first().waitFor()
  status = 204
  await page.getByRole('button', { name: 'Create the job' }).click()
  await page.getByText('The job is stored and runs.').waitFor()
  status = 500
  await fetch(`${daemon.proxy}/`)
  const job = page.getByRole('row', { name: /to a server/ })
  await job.getByText(/^[1-9]\d* records/).waitFor()
  await job.getByText(/^in at most \d+ s$|is being sent/).waitFor()
  await page.getByRole('switch', { name: 'Enable to a server' }).click()
  await page.getByRole('switch', { name: 'Enable to a server', checked: false }).waitFor()
  t.match(await api(daemon, 'GET', `/zones/${ZONE}/logpush/jobs`), [{ enabled: false }])
  await job.getByText('not running').waitFor()
  await job.getByText(`${receiver.url()}?header_Authorization=***`).waitFor()
  t.notMatch(await page.getByRole('main').innerText(), /hunter2/)
  await accessible(t, page, 'Log push')
  await page.getByRole('button', { name: 'Delete to a server' }).click()
  await page.getByText('No jobs.').waitFor()

  await open(page, 'Pipelines')
  const pipeline = page.getByRole('row', { name: /pipeline own/ })
  await pipeline.getByText('running').waitFor()
  await pipeline.getByText(/^[1-9]\d* records/).waitFor()
  await accessible(t, page, 'Pipelines')

  await open(page, 'Certificates')
  await page
    .getByRole('row', { name: /receiver\.test/ })
    .getByText(/days left/)
    .waitFor()
  await accessible(t, page, 'Certificates')

  await open(page, 'Webhooks')
  await page.getByLabel('Label', { exact: true }).fill('hook')
  await page.getByLabel('URL', { exact: true }).fill(receiver.url())
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByRole('button', { name: /^Instances of/ }).click()
  await page.getByRole('button', { name: /^Send (?!all|delivery)/ }).click()
  await page.getByText('Sent to hook.').waitFor()
  await page.getByRole('button', { name: /^Details of delivery/ }).click()
  const attempts = page.getByRole('region', { name: 'Attempts' })
  await attempts.getByRole('cell', { name: '500', exact: true }).waitFor()
  await attempts.getByText('busy').waitFor()
  await accessible(t, page, 'Webhooks')
})
