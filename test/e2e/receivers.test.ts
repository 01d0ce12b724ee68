import { spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'
import { createServer } from 'node:https'
import { request, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { finding, instance, ndjson } from '../control/webhooks/helper.js'
import { CA_FILE, SERVER_TLS } from '../helpers/tls.js'
import { until } from '../helpers/web.js'
import { ACCOUNT, configuration, startDaemon, TOKEN, unbuilt } from './daemon.js'

const SECRET = `whsec_${Buffer.alloc(32, 9).toString('base64')}`
const POSTURE = `/accounts/${ACCOUNT}/data-security/posture`

/** Receivers of the documentation by language: the command, and what shows that it can run. */
const RECEIVERS: Readonly<Record<string, readonly [command: string, args: readonly string[], version: string]>> = {
  'Node.js': [process.execPath, ['docs/receivers/receiver.mjs'], '--version'],
  Python: ['python3', ['docs/receivers/receiver.py'], '--version'],
  Java: ['java', ['docs/receivers/Receiver.java'], '-version'],
}

const absent = ([command, , version]: (typeof RECEIVERS)[string]): string | false =>
  spawnSync(command, [version]).status === 0 ? false : `${command} is not installed`

interface Started {
  readonly port: number
  /** What it has printed. */
  readonly lines: string[]
}

async function start(t: Test, [command, args]: (typeof RECEIVERS)[string]): Promise<Started> {
  const child = spawn(command, args, {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], SECRET, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const lines: string[] = []
  createInterface(child.stdout).on('line', (line) => lines.push(line))
  await until(() => lines.length > 0 || child.exitCode !== null)
  const [, port] = /^listening on (\d+)$/.exec(lines[0] ?? '') ?? []
  if (port === undefined) throw new Error(`${command} did not start: ${lines.join(' ')}`)
  return { port: Number(port), lines }
}

/** A server that ends TLS in front of a receiver, as on a real host, and shows the statuses of its responses. */
async function behindTls(t: Test, port: () => number) {
  const statuses: number[] = []
  const server = createServer(SERVER_TLS, (incoming, response: ServerResponse) => {
    const { url: path, method, headers } = incoming
    const passed = request({ host: '127.0.0.1', port: port(), path, method, headers }, (from) => {
      statuses.push(from.statusCode ?? 0)
      response.writeHead(from.statusCode ?? 502)
      from.pipe(response)
    })
    passed.on('error', () => response.destroy())
    incoming.pipe(passed)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { statuses, port: (server.address() as AddressInfo).port }
}

t.test('the receivers of the documentation verify deliveries', { skip: unbuilt }, async (t) => {
  let current = 0
  const front = await behindTls(t, () => current)
  const daemon = await startDaemon(
    t,
    configuration('demo', {
      egress: {
        allow_cidrs: [`127.0.0.1/32:${front.port}`],
        ca_file: CA_FILE,
        resolver_overrides: { 'receiver.test': ['127.0.0.1'] },
      },
    }),
  )
  const call = async (path: string, body: string, type = 'application/json') => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': type }
    const response = await fetch(daemon.control + path, { method: 'POST', headers, body })
    const { result, errors } = (await response.json()) as { result: { id: string }; errors: unknown }
    if (!response.ok) throw new Error(JSON.stringify(errors))
    return result
  }
  const id = '00000000-0000-4000-8000-000000000001'
  await call(`/accounts/${ACCOUNT}/edged/findings`, ndjson(finding('f', [instance(id)])), 'application/x-ndjson')
  const { id: webhook } = await call(
    `${POSTURE}/webhooks`,
    JSON.stringify({
      label: 'receiver',
      destination_url: `https://receiver.test:${front.port}/hook`,
      authentication_type: 'HMAC-Signing',
      signing_secret: SECRET,
    }),
  )

  for (const [language, receiver] of Object.entries(RECEIVERS))
    t.test(language, { skip: absent(receiver) }, async (t) => {
      const { port, lines } = await start(t, receiver)
      current = port
      front.statuses.length = 0
      await call(`${POSTURE}/webhooks/jobs`, JSON.stringify({ finding_instance_ids: [id], webhook_ids: [webhook] }))
      await until(() => front.statuses.length > 0 && lines.length > 1)
      t.equal(front.statuses[0], 204)
      t.match(lines[1], id, 'the event is shown once')
      for (const [what, headers] of [
        ['without signature', {}],
        ['with a wrong signature', { 'webhook-id': 'a', 'webhook-timestamp': '1', 'webhook-signature': 'v1,YWJj' }],
        [
          'with a signature of another body',
          {
            'webhook-id': 'a',
            'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
            'webhook-signature': 'v1,YWJj',
          },
        ],
      ] as const)
        t.equal((await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body: '{}' })).status, 401, what)
      t.equal(lines.length, 2)
    })
})
