import { spawnSync } from 'node:child_process'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { findWorkerd } from '../../src/workers/runtime/binary.js'
import { testFolder } from '../helpers/folder.js'
import { freePort } from '../helpers/free-port.js'
import { runShell } from '../helpers/shell.js'
import { CLI, startDaemon, unbuilt } from './daemon.js'

const has = (command: string): boolean => spawnSync(command, ['--version']).error === undefined
const missing = ['bash', 'curl', 'openssl'].filter((command) => !has(command))
const skip = unbuilt || (missing.length > 0 && `not installed: ${missing.join(', ')}`)

interface Step {
  readonly heading: string
  readonly commands: string
  /** What they print, if the page shows it. */
  readonly output: string | undefined
}

/** Reads the blocks `sh` below a heading of level 2, each with the block `text` that follows it. */
function stepsOf(page: string, section: string): Step[] {
  const [, rest = ''] = page.split(`\n## ${section}\n`)
  const [body = ''] = rest.split('\n## ')
  const steps: Step[] = []
  let heading = section
  for (const [, title, kind, content = ''] of body.matchAll(/^### ([^\n]*)$|^`{3,}(\w+)\n(.*?)^`{3,}$/gms)) {
    if (title !== undefined) heading = title
    else if (kind === 'sh') steps.push({ heading, commands: content, output: undefined })
    else if (kind === 'text') {
      const last = steps.at(-1)
      if (last?.heading === heading) steps[steps.length - 1] = { ...last, output: content }
    }
  }
  return steps
}

const PAGE = readFileSync('docs/getting-started.md', 'utf8')
const FREE = { listen: '127.0.0.1:0' }
const MARK = '== end of step'

/** Runs steps in one shell, and returns what each printed. `ports` replace those that the page names. */
async function run(t: Test, steps: readonly Step[], ports: ReadonlyMap<string, number>): Promise<string[]> {
  const folder = testFolder(t)
  const command = join(folder, 'edged')
  writeFileSync(command, `#!/bin/sh\nexec "${process.execPath}" "${CLI}" "$@"\n`)
  chmodSync(command, 0o755)
  const own = (commands: string): string =>
    commands.replaceAll(/\b\d{4}\b/g, (digits) => String(ports.get(digits) ?? digits))
  const script = ['set -e', ...steps.map(({ commands }) => `${own(commands)}\necho '${MARK}'`)].join('\n')
  const env = { PATH: `${folder}:${process.env['PATH']}`, HOME: folder }
  const out = await runShell(t, script, { folder, env })
  return out.split(`${MARK}\n`)
}

/** Fails unless each step printed what the page shows. */
function printed(t: Test, steps: readonly Step[], outputs: readonly string[]): void {
  for (const [at, { heading, commands, output }] of steps.entries())
    if (output !== undefined) t.equal(outputs[at], output, `${heading}: ${commands.split('\n')[0]}`)
}

t.test('the demo of the first page responds as it says', { skip }, async (t) => {
  const demo = parse(readFileSync('config/demo.yaml', 'utf8')) as object
  const folder = testFolder(t)
  const { proxy } = await startDaemon(
    t,
    { ...demo, data: './data', tokens: [], logpush: {}, pipelines: [], proxy: FREE, control: FREE, admin: FREE },
    folder,
  )
  const steps = stepsOf(PAGE, 'The demo')
  const [commands = ''] = steps.map((step) => step.commands)
  const lines = commands.split('\n').filter((line) => line.startsWith('curl') && line.includes(':8080'))
  t.ok(lines.length > 3)
  const ports = new Map([['8080', Number(new URL(proxy).port)]])
  const each = lines.map((line): Step => ({ heading: 'The demo', commands: `${line}\n`, output: undefined }))
  const outputs = await run(t, each, ports)
  const [, shown] = /^`{4}text\n(.*?)^`{4}$/ms.exec(PAGE) ?? []
  t.equal(outputs[0], shown, 'the Markdown of the sample page')
  t.match(outputs[1], /^\|.*\|$/m, 'tables')
  t.match(outputs[3], /^vary: .*accept/im)
  t.match(outputs[4], /^HTTP\/1\.1 404 .*application\/problem\+json/s)
})

t.test('a newcomer gets from nothing to HTTPS, a rule, a log job and a Worker', { skip }, async (t) => {
  const all = stepsOf(PAGE, 'Your own site')
  t.ok(all.length >= 9)
  const noRuntime = findWorkerd() === undefined && 'the npm package workerd is not installed'
  const steps = all.filter(({ heading }) => noRuntime === false || !heading.endsWith('A Worker'))
  const ports = new Map<string, number>()
  for (const port of ['8080', '8443', '8787', '9000', '9901']) ports.set(port, await freePort())
  printed(t, steps, await run(t, steps, ports))
  t.test('the step with a Worker', { skip: noRuntime }, async (t) => {
    t.equal(steps.length, all.length)
  })
})

t.test('commands of the page exist', { skip: unbuilt }, async (t) => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    scripts: Record<string, string>
  }
  for (const [, name = ''] of PAGE.matchAll(/npm run ([\w-]+)/g)) t.ok(name in scripts, `npm run ${name}`)
})
