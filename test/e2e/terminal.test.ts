/** What commands show on a real terminal: a pseudo-terminal of `script`, from util-linux. */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { testFolder } from '../helpers/folder.js'
import { CLI, configuration, startDaemon, unbuilt } from './daemon.js'

const SCRIPT = '/usr/bin/script'
const skip = unbuilt || (existsSync(SCRIPT) ? false : `${SCRIPT} is not installed`)

const ROWS = 24
const COLUMNS = 80

interface Shown {
  readonly code: number | null
  /** Everything that was written to the terminal. */
  readonly output: string
}

/** Runs edged on a terminal of 24 lines and 80 columns. Each key is sent after its text was shown. */
async function onTerminal(
  t: Test,
  args: readonly string[],
  {
    keys = [],
    env = {},
    cwd = testFolder(t),
  }: { keys?: [shown: RegExp, key: string][]; env?: object; cwd?: string } = {},
): Promise<Shown> {
  const command = ['stty', 'rows', ROWS, 'cols', COLUMNS, ';', process.execPath, CLI, ...args].join(' ')
  const child = spawn(SCRIPT, ['-qefc', command, '/dev/null'], {
    cwd,
    env: { PATH: process.env['PATH'], TERM: 'xterm-256color', LANG: 'C.UTF-8', SHELL: '/bin/sh', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  let from = 0
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    const [next] = keys
    if (next === undefined || !next[0].test(output.slice(from))) return
    keys.shift()
    from = output.length
    child.stdin.write(next[1])
  })
  const code = await new Promise<number | null>((resolve) => void child.on('close', resolve))
  return { code, output }
}

/** Returns the text without colours. Text that a cursor at the first column writes again is a line of its own. */
const plain = (text: string): string =>
  // oxlint-disable-next-line no-control-regex
  text.replaceAll('\u001b[1G', '\n').replaceAll(/\u001b(?:\[[?\d;]*[A-Za-z]|[78])/g, '')
// oxlint-disable-next-line no-control-regex
const COLOUR = /\u001b\[3\dm/

const zones = Array.from({ length: 60 }, (_, at) => ({
  id: String(at).padStart(32, 'a'),
  account: '023e105f4ecef8ad9ca31a8372d0c353',
  name: `zone-${at}.test`,
  origin: 'demo',
}))

t.test('top fits the terminal, obeys keys and gives the terminal back', { skip }, async (t) => {
  const daemon = await startDaemon(t, configuration('demo', { zones }))
  const args = ['top', '--admin', daemon.admin.replace('http://', '')]
  const keys: [RegExp, string][] = [
    [/1\/3/, '\u001b[C'],
    [/2\/3/, '4'],
    [/all webhooks/, '?'],
    [/close this help/, 'q'],
  ]
  const { code, output } = await onTerminal(t, args, { keys })
  t.equal(code, 0)
  t.same(keys, [], 'every key was sent')
  const [, drawn = ''] = output.split('\u001b[?7l')
  const frames = drawn.split('\u001b[H').slice(1)
  t.ok(frames.length >= 4)
  for (const frame of frames) {
    const lines = plain(frame.split('\u001b[?7h')[0] ?? '').split(/\r+\n/)
    t.equal(lines.length, ROWS, 'a frame has as many lines as the terminal')
    t.ok(
      lines.every((line) => line.length <= COLUMNS),
      lines.join('\n'),
    )
  }
  t.ok(output.includes('\u001b[?25h\u001b[?1049l'), 'the other screen is left, with the cursor')
  t.match(output, COLOUR)
  const dull = await onTerminal(t, args, { keys: [[/1\/3/, 'q']], env: { NO_COLOR: '1' } })
  t.notMatch(dull.output, COLOUR)
})

t.test('status and doctor have colours on a terminal, and the same words', { skip }, async (t) => {
  const daemon = await startDaemon(t, configuration('http://127.0.0.1:9'))
  const args = ['status', '--admin', daemon.admin.replace('http://', '')]
  const { output } = await onTerminal(t, args)
  t.match(output, COLOUR)
  t.match(plain(output), /^edged \d+\.\d+\.\d+ on Node .*, ready\r$/m)
  t.notMatch((await onTerminal(t, args, { env: { NO_COLOR: '1' } })).output, COLOUR)
  t.notMatch((await onTerminal(t, [...args, '--json'])).output, COLOUR)
})

t.test('run shows one line of progress and a summary for people', { skip }, async (t) => {
  const cwd = testFolder(t)
  const records = Array.from({ length: 20_000 }, (_, at) => JSON.stringify({ RayID: `${at}`, EdgeResponseStatus: 500 }))
  writeFileSync(join(cwd, 'in.ndjson'), `${records.join('\n')}\nx\n`)
  writeFileSync(
    join(cwd, 'run.yaml'),
    'source: { file: in.ndjson }\ndataset: http_requests\non_invalid: skip\noutput_options: { field_names: [RayID] }\ndestination_conf: file:out/{DATE}\n',
  )
  const { code, output } = await onTerminal(t, ['run', 'run.yaml'], { cwd })
  t.equal(code, 0)
  const lines = plain(output).split(/[\r\n]+/)
  const progress = lines.filter((line) => line.startsWith(' '))
  t.ok(progress.length > 1 && progress.every((line) => line.length <= COLUMNS), progress.join('\n'))
  t.match(lines.join('\n'), /^20,00\d records read, 20,000 delivered in .* · 1 batch, /m)
  t.match(lines.join('\n'), /^1 invalid$/m)
  const json = await onTerminal(t, ['run', 'run.yaml', '--json'], { cwd })
  t.match(plain(json.output), /^\{"read":20\d+.*\}\r$/m)
})

t.test('convert of several pages ends with a summary', { skip }, async (t) => {
  const cwd = testFolder(t)
  for (const name of ['a', 'b']) writeFileSync(join(cwd, `${name}.html`), `<nav>x</nav><h1>${name}</h1>`)
  const { code, output } = await onTerminal(t, ['convert', '-o', 'out', 'a.html', 'b.html', 'none.html'], { cwd })
  t.equal(code, 1)
  t.match(plain(output), /^2 pages, 44 bytes HTML → \d+ bytes Markdown \(-\d+ %\), 1 not converted\r$/m)
  t.equal(readFileSync(join(cwd, 'out/a.md'), 'utf8').includes('# a'), true)
})

t.test('the help has its commands in groups, and its usage at the end', { skip }, async (t) => {
  const { output } = await onTerminal(t, ['--help'])
  const text = plain(output).replaceAll('\r', '')
  t.match(text, /^Start:\n {2}serve .*^The running daemon:\n {2}status .*^Files and pages:\n.*^Access and schemas:\n/ms)
  t.match(text, /\nUsage: edged \[options\] \[command\]\n*$/)
})
