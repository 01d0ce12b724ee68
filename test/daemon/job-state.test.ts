import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { testFolder } from '../helpers/folder.js'
import { ACCOUNT, liveDaemon, until, ZONE } from '../helpers/live-daemon.js'

const JOBS = `/zones/${ZONE}/logpush/jobs`
const READER = 'reader-token-0123456789-abcdefghijklmno'

t.test('a job says how it fares, is attempted again, and hides its secrets', async (t) => {
  let status = 403
  const received: string[] = []
  const server = createServer((request, response) => {
    received.push(`${request.url?.split('?')[0]} ${request.headers['authorization']}`)
    request.resume()
    response.statusCode = request.url?.startsWith('/other') ? 200 : status
    response.end('no entry')
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const live = await liveDaemon(t, testFolder(t), {
    egress: { allow_cidrs: [`127.0.0.1/32:${port}`] },
    logpush: { destinations: { allow_plain_http: true } },
    tokens: [
      {
        name: 'admin',
        token: 'admin-token-0123456789-abcdefghijklmnop',
        permissions: ['*'],
        accounts: ['*'],
        zones: ['*'],
      },
      { name: 'reader', token: READER, permissions: ['Logs Read'], accounts: [ACCOUNT], zones: ['*'] },
    ],
  })
  const destination = `http://127.0.0.1:${port}/in?header_Authorization=Bearer%20secret-of-job`
  status = 200
  const made = await live.call('POST', JOBS, {
    dataset: 'http_requests',
    destination_conf: destination,
    enabled: true,
    max_upload_records: 1000,
    max_upload_interval_seconds: 30,
  })
  t.equal(made.status, 200)
  const job = `${JOBS}/${made.body.result.id}`
  t.match(made.body.result, { destination_conf: destination, edged: { state: 'running', failing_since: null } })
  const read = await live.call('GET', job, undefined, READER)
  t.match(read.body.result.destination_conf, 'header_Authorization=***')
  t.notMatch(JSON.stringify((await live.call('GET', JOBS, undefined, READER)).body), 'secret-of-job')

  status = 403
  const records = Array.from({ length: 1000 }, (_, i) => ({ RayID: String(i) }))
  t.equal((await live.call('POST', `/zones/${ZONE}/edged/records/http_requests`, records)).status, 202)
  const state = async () => (await live.call('GET', job)).body.result.edged
  const failing = await until(async () => {
    const found = await state()
    return found.state === 'failing' ? found : undefined
  })
  t.match(failing, {
    failing_since: /^2/,
    lag_records: 1000,
    batches: [{ records: 1000, status: 'failed', error: /403/ }],
  })
  status = 200
  const empty = async () => await until(async () => ((await state()).lag_records === 0 ? true : undefined))
  t.match((await live.call('POST', `${job}/edged/retry`)).body.result, { attempted: true })
  await empty()
  t.match(await state(), { state: 'running', failing_since: null, batches: [{ status: 'delivered', error: null }] })

  // A change keeps the records that wait, and the secret.
  status = 403
  await live.call('POST', `/zones/${ZONE}/edged/records/http_requests`, records)
  await until(async () => ((await state()).state === 'failing' ? true : undefined))
  const masked = read.body.result.destination_conf.replace('/in', '/other')
  const changed = await live.call('PUT', job, { destination_conf: masked })
  t.equal(changed.body.result.destination_conf, destination.replace('/in', '/other'))
  await empty()
  t.equal(received.at(-1), '/other Bearer secret-of-job')
  t.equal((await live.call('PUT', job, { destination_conf: `${masked}&header_x=***` })).status, 400)
  t.equal((await live.call('POST', `${JOBS}/99/edged/retry`)).status, 404)
  t.equal((await live.call('POST', `${job}/edged/retry`, undefined, READER)).status, 403)
})
