import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readConfig } from '../../src/config/load.js'
import { silentLog } from '../../src/core/log.js'
import { startDaemon } from '../../src/daemon/index.js'
import { testFolder } from '../helpers/folder.js'
import { sendRaw } from '../helpers/proxy.js'

const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'
const ZONE = '9f1839b6152d298aca64c4e906b6d074'
const TOKEN = 'admin-token-0123456789-abcdefghijklmnop'

const FILE = `data: ./data
log: { level: error }
proxy: { listen: "127.0.0.1:0" }
control: { listen: "127.0.0.1:0" }
admin: { listen: "127.0.0.1:0" }
tokens: [{ name: admin, token: ${TOKEN}, permissions: ["*"] }]
egress: { allow_cidrs: ["127.0.0.1/32:1"] }
logpush: { destinations: { allow_file_under: ["."] } }
accounts: [{ id: ${ACCOUNT}, name: Example }]
lists:
  - { name: first, kind: ip, items: [192.0.2.1] }
  - { name: second, kind: ip, items: [] }
pipelines:
  - name: all
    source: { zone: ${ZONE} }
    dataset: http_requests
    destination_conf: file:./logs/{DATE}
zones:
  - id: ${ZONE}
    account: ${ACCOUNT}
    name: one.test
    origin: demo
    agents:
      access:
        - { who: { operator: OpenAI, verified: signature }, do: allow }
        - { who: { name: GPTBot }, do: pay, price: USD 0.01 }
`
const lineOf = (text: string) => FILE.split('\n').findIndex((line) => line.includes(text)) + 1

t.test('objects of the configuration file are shown with their places, objects of the API without', async (t) => {
  const folder = testFolder(t)
  const file = join(folder, 'edged.yaml')
  writeFileSync(file, FILE)
  const daemon = await startDaemon(readConfig(FILE, file, {}), { log: silentLog })
  t.teardown(() => daemon.close())
  const api = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${daemon.control}${path}`, {
      method,
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    return ((await response.json()) as { result: any }).result
  }
  const at = (text: string) => ({ file, line: lineOf(text) })
  t.same((await api('GET', `/zones/${ZONE}`)).edged_source, at('id: 9f'))
  t.same((await api('GET', '/zones'))[0].edged_source, at('id: 9f'))
  const made = await api('POST', '/zones', { name: 'made.test', account: { id: ACCOUNT } })
  t.equal(made.edged_source, null)
  const lists = `/accounts/${ACCOUNT}/rules/lists`
  t.equal((await api('POST', lists, { name: 'own', kind: 'ip' })).edged_source, null)
  t.same(
    (await api('GET', lists)).map(({ name, edged_source }: any) => [name, edged_source]),
    [
      ['first', at('name: first')],
      ['second', at('name: second')],
      ['own', null],
    ],
  )
  const job = { dataset: 'http_requests', destination_conf: `file://${folder}/pushed`, enabled: false }
  t.match(await api('POST', `/zones/${ZONE}/logpush/jobs`, job), { edged_source: null })
  t.match(await api('GET', `/zones/${ZONE}/edged/pipelines`), [{ name: 'all', edged_source: at('name: all') }])
  const request = 'GET / HTTP/1.1\r\nHost: one.test\r\nUser-Agent: GPTBot/1.2\r\nConnection: close\r\n\r\n'
  await sendRaw(Number(new URL(daemon.proxy).port), request)
  t.match(await api('GET', `/zones/${ZONE}/edged/agents`), [
    {
      name: 'GPTBot',
      access: {
        none: { do: 'pay', price: 'USD 0.01', edged_source: at('who: { name: GPTBot }') },
        address: { do: 'pay' },
        signature: { do: 'allow', price: null, edged_source: at('who: { operator') },
      },
    },
  ])
})
