import { join } from 'node:path'
import t from 'tap'
import { request } from 'undici'
import { printable } from '../../src/core/printable.js'
import { testFolder } from '../helpers/folder.js'
import { startOrigin } from '../helpers/proxy.js'
import { until } from '../helpers/web.js'
import { configuration, startDaemon, TOKEN, unbuilt, ZONE, type Daemon } from './daemon.js'
import { tail } from './tail-edged.js'

const options = { skip: unbuilt, timeout: 600_000 }

const visit = async ({ proxy }: Daemon, path: string): Promise<void> => {
  const response = await request(`${proxy}${path}`, { headers: { host: 'example.test', 'user-agent': 'tail' } })
  await response.body.dump()
}

t.test('tail shows records of a zone, a job and a pipeline as they pass', options, async (t) => {
  const { url: origin } = await startOrigin(t, (_request, response) => void response.end('hello'))
  const folder = testFolder(t)
  const source = { http: '127.0.0.1:0' }
  const config = configuration(origin, {
    logpush: { destinations: { allow_file_under: [folder] } },
    pipelines: [
      {
        name: 'app',
        source,
        dataset: 'any',
        routes: [
          { name: 'all', destination_conf: 'file:all' },
          {
            name: 'errors',
            filter: { where: { key: 'level', operator: 'eq', value: 'error' } },
            output_options: { field_names: ['/user/id'] },
            destination_conf: 'file:errors',
          },
        ],
      },
    ],
  })
  const daemon = await startDaemon(t, config, folder)
  const api = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
    const response = await fetch(`${daemon.control}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    return (await response.json()) as { success: boolean; result: { id: number }; errors: unknown }
  }
  const made = await api(`/zones/${ZONE}/logpush/jobs`, {
    dataset: 'http_requests',
    enabled: true,
    destination_conf: `file://${join(folder, 'job')}`,
    output_options: { output_type: 'csv', field_names: ['ClientRequestURI', 'EdgeResponseStatus'] },
  })
  t.ok(made.success, JSON.stringify(made.errors))

  const watched = '{"where":{"key":"ClientRequestURI","operator":"contains","value":"/watched"}}'
  const zone = tail(t, daemon, ['example.test', '--filter', watched, '--fields', 'ClientRequestURI'])
  const job = tail(t, daemon, [String(made.result.id)])
  // Until both listen, records pass unseen.
  await until(async () => {
    await visit(daemon, '/watched')
    return zone.lines().length > 0 && job.lines().length > 0
  })
  await visit(daemon, '/other')
  await visit(daemon, '/watched?last')
  await until(() => zone.out().includes('last') && job.out().includes('last'))
  t.equal(zone.lines().at(-1), '{"ClientRequestURI":"/watched?last"}')
  t.notOk(zone.out().includes('/other'))
  t.equal(job.lines().at(-2), '"/other",200')

  const listening = daemon.lines.map((line) => JSON.parse(line) as { msg?: string })
  const url = listening
    .find(({ msg }) => msg?.includes('listening on'))!
    .msg!.split(' ')
    .at(-1)!
  const both = [
    tail(t, daemon, ['app', '--filter', '{"where":{"key":"n","operator":"gt","value":9007199254740992}}']),
    tail(t, daemon, ['app/errors']),
  ] as const
  const send = async () =>
    await fetch(url, {
      method: 'POST',
      body: '{"level":"info","n":1}\n{"level":"error","n":9007199254740993,"user":{"id":"\u009b31m"}}\n',
    })
  await until(async () => {
    await send()
    return both.every(({ lines }) => lines().length > 0)
  })
  t.equal(both[0].lines()[0], '{"level":"error","n":9007199254740993,"user":{"id":"\u009b31m"}}')
  t.equal(both[1].lines()[0], '{"/user/id":"\u009b31m"}')
  for (const { child, ended, errors } of [zone, job, ...both]) {
    child.kill('SIGINT')
    t.equal(await ended, 0)
    t.equal(errors(), '')
  }

  const WRONG: [args: readonly string[], token: string | undefined, message: RegExp][] = [
    [['nothing'], TOKEN, /no zone, account, running job or pipeline is called "nothing"/],
    [['example.test', '--filter', '{'], TOKEN, /\/filter .*JSON/],
    [['example.test', '--fields', 'Nope'], TOKEN, /field_names\/0 .*Nope|is not a field/],
    [['example.test'], 'wrong-token-of-nobody', /rejected/],
    [['example.test'], '', /no token for the API/],
  ]
  for (const [args, token, message] of WRONG) {
    const run = tail(t, daemon, args, token)
    t.equal(await run.ended, 1)
    t.match(run.errors(), message)
  }
})

t.test('control characters are escaped for terminals', (t) => {
  t.equal(printable('a\tb\u001b[2J\u009b\u202e\r\n'), 'a\tb\\u001b[2J\\u009b\\u202e\\u000d\n')
  t.end()
})
