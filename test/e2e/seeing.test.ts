import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { testFolder } from '../helpers/folder.js'
import { originServer, until } from '../helpers/web.js'
import { CLI, configuration, startDaemon, TOKEN, unbuilt, ZONE } from './daemon.js'

/** Runs a command and returns what it prints. */
async function edged(...args: string[]): Promise<string> {
  const child = spawn(process.execPath, [CLI, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [out, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
  if (code !== 0) throw new Error(`edged ${args.join(' ')} ended with ${String(code)}`)
  return out
}

t.test('top --once shows traffic and states of the daemon', { skip: unbuilt }, async (t) => {
  const folder = testFolder(t)
  const pipelines = [{ name: 'own', source: { zone: ZONE }, dataset: 'http_requests', destination_conf: 'file:./own' }]
  const daemon = await startDaemon(t, configuration('demo', { pipelines }), folder)
  for (const accept of ['text/html', 'text/markdown', 'text/markdown'])
    await (await fetch(`${daemon.proxy}/`, { headers: { accept } })).text()
  await (await fetch(`${daemon.proxy}/missing`)).text()
  interface Top {
    readonly zones: readonly { readonly name: string; readonly requests: number; readonly markdown: number }[]
    readonly pipelines: readonly { readonly name: string; readonly read: number }[]
  }
  const top = async () => JSON.parse(await edged('top', '--json', '--admin', daemon.admin)) as Top
  let seen = await top()
  await until(async () => {
    if (seen.pipelines.some(({ name, read }) => name === 'pipeline own' && read === 4)) return true
    seen = await top()
    return false
  })
  t.match(seen, { ready: true, zones: [{ name: 'example.test', requests: 4, markdown: 2 }] })
  const shown = await edged('top', '--once', '--admin', daemon.admin)
  for (const part of ['edged ', 'example.test', 'pipeline own', 'http://127.0.0.1:']) t.match(shown, part)
  // The same to a pipe without the option, and without the control characters of a terminal.
  t.match(await edged('top', '--admin', daemon.admin), /example\.test/)
  t.notMatch(shown, '\u001b')
})

const TRACE = '0af7651916cd43dd8448eb211c80319c'

t.test(
  'level and sample of logs follow a reload, and lines have the ids of their request',
  { skip: unbuilt },
  async (t) => {
    const url = await originServer(t, (request, response) => {
      if (request.url === '/breaks') request.socket.destroy()
      else response.end('hello')
    })
    const folder = testFolder(t)
    const config = configuration(url, {
      log: { level: 'info' },
      access_log: { file: './access.log', format: 'json', sample: 1 },
      telemetry: { otlp: url, sample: 0 },
    })
    const daemon = await startDaemon(t, config, folder)
    const file = join(folder, 'edged.yaml')
    const change = async (...replaced: (readonly [from: string, to: string])[]) => {
      const before = await readFile(file, 'utf8')
      await writeFile(
        file,
        replaced.reduce((all, [from, to]) => all.replace(from, to), before),
      )
      t.match(await edged('reload', '--admin', daemon.admin), /^reloaded/)
    }
    const linesWith = (part: string) => daemon.lines.filter((line) => line.includes(part))
    const traceparent = `00-${TRACE}-b7ad6b7169203331-01`
    const rayOf = ({ headers }: Response): string => headers.get('cf-ray')!.split('-')[0]!
    const visit = async (path: string) => rayOf(await fetch(daemon.proxy + path, { headers: { traceparent } }))
    const call = async () =>
      rayOf(await fetch(`${daemon.control}/zones`, { headers: { authorization: `Bearer ${TOKEN}`, traceparent } }))
    const accessLog = () => readFile(join(folder, 'access.log'), 'utf8').catch(() => '')
    const logged = async (path: string) => await until(async () => (await accessLog()).includes(path))

    const first = await call()
    await until(() => linesWith(`"id":"${first}"`).length > 0)
    t.match(JSON.parse(linesWith(`"id":"${first}"`)[0]!), { event: 'api', trace_id: TRACE })
    const broken = await visit('/breaks')
    await until(() => linesWith(`"ray":"${broken}"`).length > 0)
    t.match(JSON.parse(linesWith(`"ray":"${broken}"`)[0]!), { level: 'warn', trace_id: TRACE })
    await visit('/every')
    await logged('/every')

    await change(['level: info', 'level: warn'], ['sample: 1', 'sample: 0'])
    const silent = await call()
    await visit('/not-sampled')
    await visit('/breaks')
    await until(async () => (await accessLog()).split('/breaks').length === 3)
    t.notMatch(await accessLog(), '/not-sampled', 'only failed requests are written')
    await change(['level: warn', 'level: info'])
    const last = await call()
    await until(() => linesWith(`"id":"${last}"`).length > 0)
    t.same(linesWith(`"id":"${silent}"`), [], 'nothing of a lower level')
  },
)
