import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { everySchema } from '../../src/daemon/written-validators.js'
import { testFolder } from '../helpers/folder.js'
import { originServer } from '../helpers/web.js'
import { ACCOUNT, CLI, configuration, startDaemon, TOKEN, unbuilt, ZONE } from './daemon.js'

/** To compile a schema fails. */
const NO_COMPILATION = `--import=${new URL('../helpers/no-compilation.mjs', import.meta.url).href}`
const options = { skip: unbuilt, timeout: 300_000 }

t.test('the daemon compiles no schema: neither at its start nor for requests', options, async (t) => {
  const origin = await originServer(t, (_request, response) => void response.end('page'))
  const daemon = await startDaemon(t, configuration(origin), undefined, [NO_COMPILATION])
  const call = async (method: string, path: string, body?: unknown): Promise<[number, string]> => {
    const response = await fetch(`${daemon.control}${path}`, {
      method,
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return [response.status, await response.text()]
  }
  const zone = `/zones/${ZONE}`
  const account = `/accounts/${ACCOUNT}`
  const entryPoint = `${zone}/rulesets/phases/http_request_firewall_custom/entrypoint`
  const rule = { action: 'block', expression: 'ip.src eq 192.0.2.1' }
  const accepted: readonly (readonly [string, string, unknown?])[] = [
    ['GET', '/zones?per_page=5'],
    ['GET', `${zone}/settings`],
    ['PATCH', `${zone}/settings/always_use_https`, { value: 'off' }],
    ['PUT', entryPoint, { rules: [rule] }],
    ['POST', `${account}/rules/lists`, { name: 'blocked', kind: 'ip' }],
    ['POST', `${account}/storage/kv/namespaces`, { title: 'names' }],
    ['POST', `${zone}/purge_cache`, { purge_everything: true }],
    ['GET', `${account}/audit_logs`],
    ['GET', `${account}/workers/scripts`],
  ]
  for (const [method, path, body] of accepted) t.match(await call(method, path, body), [200], `${method} ${path}`)
  const rejected: readonly (readonly [string, string, unknown, string])[] = [
    ['PATCH', `${zone}/settings/always_use_https`, { value: 1 }, '/value'],
    ['PUT', entryPoint, { rules: [{ ...rule, enabled: 'yes' }] }, '/rules/0/enabled'],
    ['PUT', entryPoint, { rules: [{ ...rule, ratelimit: { period: 'x' } }] }, '/rules/0/ratelimit'],
    ['POST', `${account}/rules/lists`, { name: 5, kind: 'ip' }, '/name'],
    ['POST', `${zone}/logpush/jobs`, { dataset: 'http_requests', destination_conf: 5 }, '/destination_conf'],
    ['POST', `${account}/storage/kv/namespaces`, { title: [] }, '/title'],
    ['POST', '/user/tokens', { name: 5 }, '/name'],
  ]
  for (const [method, path, body, pointer] of rejected) {
    const [status, text] = await call(method, path, body)
    t.equal(status, 400, `${method} ${path}: ${text}`)
    t.ok(text.includes(pointer), text)
  }
  t.strictSame(
    daemon.lines.filter((line) => line.includes('"level":"error"')),
    [],
  )
})

t.test('commands compile no schema', options, async (t) => {
  const folder = testFolder(t)
  const pipeline = join(folder, 'pipeline.yaml')
  await writeFile(pipeline, 'source: { stdin: true }\ndataset: http_requests\ndestination_conf: "file:./out"\n')
  for (const file of ['config/full.yaml', 'config/demo.yaml', pipeline]) {
    const { stdout } = await promisify(execFile)(process.execPath, [NO_COMPILATION, CLI, 'check', file], {
      env: { PATH: process.env['PATH'], EDGED_ADMIN_TOKEN: 'token-for-the-check-of-the-file' },
    })
    t.match(stdout, /ok|valid/i, file)
  }
})

t.test('each schema has its validators in the build', options, async (t) => {
  const missing = [...(await everySchema())].filter(([key]) => !existsSync(join(CLI, `../validators/${key}.cjs`)))
  t.strictSame(
    missing.map(([, { schema }]) => JSON.stringify(schema).slice(0, 300)),
    [],
  )
})
