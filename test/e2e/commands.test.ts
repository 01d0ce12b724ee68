import { execFile, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { CLI, configuration, startDaemon, unbuilt } from './daemon.js'
import { testFolder } from '../helpers/folder.js'
import { freePort } from '../helpers/free-port.js'
import { originServer } from '../helpers/web.js'

const options = { skip: unbuilt }

function edged(args: readonly string[], input: string | Uint8Array = '') {
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, ...args], {
    input,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] },
    maxBuffer: 1 << 26,
  })
  return { status, stdout, stderr }
}

/** Runs a command while servers of this process respond. */
const edgedLive = async (args: readonly string[]) =>
  await new Promise<{ status: unknown; stdout: string; stderr: string }>((resolve) => {
    execFile(process.execPath, [CLI, ...args], { env: { PATH: process.env['PATH'] } }, (error, stdout, stderr) => {
      resolve({ status: error?.code ?? 0, stdout, stderr })
    })
  })

t.test('the exit code of convert is the reason why there is no Markdown', options, async (t) => {
  const limit = 6_291_456
  const cases: [what: string, input: Uint8Array | string, type: string, status: number][] = [
    ['HTML', '<h1>a</h1>', 'text/html', 0],
    ['as much as is converted', Buffer.alloc(limit, 'a'), 'text/html', 0],
    ['a byte more', Buffer.alloc(limit + 1, 'a'), 'text/html', 3],
    ['malformed XHTML', '<p><b></p>', 'application/xhtml+xml; charset=utf-8', 4],
    ['what is no HTML', '%PDF', 'application/pdf', 4],
    ['binary data', Buffer.from([0, 1, 2, 0x89, 0x50]), 'text/html', 4],
    ['HTML with a NUL', '\0<h1>a</h1>', 'text/html', 0],
  ]
  for (const [what, input, type, status] of cases) {
    const done = edged(['convert', '--content-type', type], input)
    t.equal(done.status, status, what)
    t.equal(done.stdout === '', status !== 0, what)
    t.equal(done.stderr.split('\n').length, status === 0 ? 1 : 2, `${what}: one line`)
  }
})

t.test('convert keeps HTML where it is asked to', options, async (t) => {
  const page = '<div class="box"><p>a <u>b</u></div>'
  t.equal(edged(['convert'], page).stdout, 'a b\n')
  t.equal(edged(['convert', '--keep-html'], page).stdout, '<div class="box">\n\na <u>b</u>\n\n</div>\n')
})

t.test('a reader that has enough ends convert without a word', options, async (t) => {
  const folder = testFolder(t, { 'a.html': `<p>${'a '.repeat(1 << 20)}` })
  const { status, stderr } = spawnSync(
    'sh',
    ['-c', '"$1" "$2" convert "$3" | head -c 9', 'sh', process.execPath, CLI, join(folder, 'a.html')],
    { encoding: 'utf8' },
  )
  t.equal(status, 0)
  t.equal(stderr, '')
})

t.test('check --json prints no secrets', options, async (t) => {
  const file = join(
    testFolder(t, {
      'edged.yaml': `store: 'redis://user:planted-password@127.0.0.1/0'
secrets: { key: '${'01'.repeat(32)}', old_keys: ['${'02'.repeat(32)}'] }
tokens: [{ name: a, token: planted-token-of-an-admin, permissions: ['*'] }]
legacy_keys: [{ email: a@b.test, key: planted-key-of-somebody, permissions: ['*'] }]
logpush: { dead_letter: 'https://a.test/?header_X=planted' }
pipelines:
  - { name: p, source: { http: '127.0.0.1:1' }, dataset: dns_logs, destination_conf: 'https://a.test/?header_X=planted' }
`,
    }),
    'edged.yaml',
  )
  const { status, stdout } = edged(['check', '--json', file])
  t.equal(status, 0)
  t.match(JSON.parse(stdout), { store: 'redis://127.0.0.1/0', tokens: [{ name: 'a' }], pipelines: [{ name: 'p' }] })
  t.notMatch(stdout, /planted|0101|0202/)
})

t.test('check names served hosts without a certificate at their places', options, async (t) => {
  const id = 'a'.repeat(32)
  const text = `proxy: { listen: "127.0.0.1:0", tls: { listen: "127.0.0.1:0", acme: { email: a@b.test, agree_to_terms: true } } }
accounts: [{ id: ${id}, name: A }]
zones:
  - { id: ${id}, account: ${id}, name: one.test, origin: demo }
  - { id: ${'b'.repeat(32)}, account: ${id}, name: two.test, origin: demo, hostnames: [two.test, localhost] }
`
  const file = join(t.testdir({ 'edged.yaml': text }), 'edged.yaml')
  const checked = edged(['check', file])
  t.equal(checked.status, 0)
  t.equal(checked.stdout, `${file}: ok\n`)
  const [first, second] = checked.stderr.trim().split('\n')
  t.match(first, /:4:\d+: warning: \*\.one\.test \(zone one\.test\) is served over HTTPS and has no certificate/)
  t.match(second, /:5:\d+: warning: localhost .*certificate authorities do not issue/)
})

t.test('a token is not made in a store that nobody else sees', options, async (t) => {
  const file = join(testFolder(t, { 'edged.yaml': 'store: memory' }), 'edged.yaml')
  const { status, stdout, stderr } = edged(['token', 'create', '-c', file, '--name', 'a', '--permission', '*'])
  t.equal(status, 1)
  t.equal(stdout, '')
  t.match(stderr, /^edged: a store in memory ends with its daemon/)
})

// The command left out everything about Workers.
t.test('schema openapi prints what the daemon serves as its manual', options, async (t) => {
  const { control } = await startDaemon(t, configuration('demo'))
  const served: unknown = await (await fetch(new URL('/openapi.json', control))).json()
  const { status, stdout } = edged(['schema', 'openapi'])
  t.equal(status, 0)
  t.same(JSON.parse(stdout), served)
})

t.test('convert reads several files and writes one for each', options, async (t) => {
  const folder = t.testdir({ 'a.html': '<nav>n</nav><p>one', 'b.htm': '<p>two', out: {} })
  const [a, b, out] = [join(folder, 'a.html'), join(folder, 'b.htm'), join(folder, 'out')]
  t.equal(edged(['convert', a, b]).stdout, 'one\n\ntwo\n')
  t.match(edged(['convert', '-o', out, a, join(folder, 'none.html'), b]), {
    status: 1,
    stderr: /none\.html: no such file/,
  })
  t.equal(readFileSync(join(out, 'a.md'), 'utf8'), 'one\n')
  t.equal(readFileSync(join(out, 'b.md'), 'utf8'), 'two\n')
  t.match(edged(['convert', '-o', out, a, join(out, '../a.html')]), { status: 2, stderr: /both be written to a\.md/ })
  t.match(edged(['convert', '-o', a, a, b]), { status: 2, stderr: /is not a folder/ })
  t.equal(edged(['convert', '-o', join(out, 'c.md'), b]).stdout, '')
  t.match(edged(['convert', '-o', join(out, 'none/c.md'), b]), {
    status: 1,
    stderr: /--output: cannot write to ".*c\.md": its folder does not exist/,
  })
  t.equal(readFileSync(join(out, 'c.md'), 'utf8'), 'two\n')
  t.match(edged(['convert', '--main', '--keep-html', a]), { stderr: /cannot be used with/ })
  t.equal(edged(['convert', '-o', join(out, 'new/folder'), a, b]).status, 0)
  t.same(readdirSync(join(out, 'new/folder')), ['a.md', 'b.md'])
})

const NOT_HTML: readonly (readonly [what: string, bytes: Buffer, reason: RegExp])[] = [
  ['an SVG image', Buffer.from('<?xml version="1.0"?>\n<!-- a --><svg xmlns="http://www.w3.org/2000/svg"/>'), /SVG/],
  ['a PNG image', Buffer.from('\x89PNG\r\n\x1a\n<a>', 'latin1'), /image/],
  ['an archive', Buffer.from('PK\x03\x04<a>', 'latin1'), /archive/],
  ['a PDF document', Buffer.from('%PDF-1.7\n<</Type /Catalog>>'), /PDF/],
  [
    'random bytes with a tag in them',
    Buffer.concat([createHash('sha512').update('a').digest(), Buffer.from('<a>')]),
    /binary/,
  ],
]
for (const [what, bytes, reason] of NOT_HTML)
  t.test(`convert exits with 4 for ${what}`, options, async (t) => {
    const file = join(t.testdir({}), 'page')
    writeFileSync(file, bytes)
    t.match(edged(['convert', file]), { status: 4, stdout: '', stderr: reason })
  })

t.test('convert reads plain text, and a page with a stray control character', options, async (t) => {
  t.equal(edged(['convert'], 'plain text').stdout, 'plain text\n')
  t.match(edged(['convert'], '<!-- a --><p>one\x08 and a text that is long enough'), { status: 0, stdout: /^one/ })
  t.match(edged(['convert'], '<!doctype html><svg></svg><p>two'), { status: 0, stdout: 'two\n' })
})

t.test('a wrong command line is reported in one line that names the help', options, async (t) => {
  for (const [args, line] of [
    [['backup'], "edged: missing required argument 'file'; see edged backup --help\n"],
    [['foo'], "edged: unknown command 'foo'; see edged --help\n"],
    [['top', '--onc'], "edged: unknown option '--onc' (Did you mean --once?); see edged top --help\n"],
  ] as const)
    t.match(edged(args), { status: 1, stdout: '', stderr: line })
})

t.test('doctor uses the ports of the running daemon', options, async (t) => {
  const folder = testFolder(t)
  const { admin } = await startDaemon(t, configuration('demo'), folder)
  const [file, other] = [join(folder, 'edged.yaml'), join(folder, 'other.yaml')]
  const { host } = new URL(admin)
  const text = `data: ./data\nproxy: { listen: 127.0.0.1:0 }\ncontrol: { listen: 127.0.0.1:0 }\nadmin: { listen: ${host} }\n`
  writeFileSync(file, text)
  writeFileSync(other, text)
  t.match(edged(['doctor', '-c', file]), { status: 0, stdout: /admin.listen: \S+ is used by the running daemon/ })
  const message = `another daemon (${file}) listens on ${host}`
  t.match(edged(['doctor', '-c', other]), { status: 1, stdout: message })
  for (const command of ['status', 'reload', 'top'])
    t.match(edged([command, '-c', other]), { status: 1, stderr: `edged: ${message}\n` }, command)
  t.match(edged(['status', '-c', file]), { status: 0, stdout: /^edged / })
  t.match(edged(['status', '-c', other, '--admin', host]), { status: 1, stderr: message })
})

t.test('commands without -c take edged.yaml of the folder', options, (t) => {
  const folder = t.testdir({ 'edged.yaml': 'data: ./data\n' })
  const at = (cwd: string) =>
    spawnSync(process.execPath, [CLI, 'check'], { cwd, encoding: 'utf8', env: { PATH: process.env['PATH'] } })
  t.match(at(folder), { status: 0, stdout: './edged.yaml: ok\n' })
  t.match(edged(['check', '-c', join(folder, 'edged.yaml')]), { status: 0 })
  t.match(edged(['check', 'a.yaml', '-c', 'b.yaml']), { status: 1, stderr: /check takes one file/ })
  t.end()
})

t.test('convert leaves out links or numbers them', options, async (t) => {
  const page = '<p>a <a href="/u">b</a><img src=i.png alt=c>'
  t.equal(edged(['convert', '--no-links'], page).stdout, 'a bc\n')
  t.equal(edged(['convert', '--citations'], page).stdout, 'a b [1]![c](i.png)\n\n[1]: /u\n')
  t.match(edged(['convert', '--citations', '--no-links'], page), { status: 1, stderr: /cannot be used with/ })
})

t.test('convert leaves footnotes, callouts and formulas in their plain form', options, async (t) => {
  const note = '<p>a<sup><a href="#fn1">1</a></sup></p><ol><li id="fn1">b</ol>'
  t.equal(edged(['convert'], note).stdout, 'a[^1]\n\n[^1]: b\n')
  t.equal(edged(['convert', '--no-footnotes'], note).stdout, 'a[1](#fn1)\n\n1. b\n')
  const callout = '<div class="admonition note"><p>Take care</p></div>'
  t.equal(edged(['convert'], callout).stdout, '> [!NOTE]\n> Take care\n')
  t.equal(edged(['convert', '--no-callouts'], callout).stdout, 'Take care\n')
  const formula = '<span data-latex="x^2"></span>'
  t.equal(edged(['convert'], formula).stdout, '$`x^2`$\n')
  t.equal(edged(['convert', '--no-math'], formula).stdout, '`x^2`\n')
  t.equal(edged(['convert', '--no-footnotes', '--no-callouts', '--no-math'], 'a').stdout, 'a\n')
})

t.test('convert reads pages from URLs', options, async (t) => {
  const site = await originServer(t, ({ url, headers }, response) => {
    const type = url === '/data' ? 'application/json' : 'text/html; charset=windows-1252'
    response.writeHead(url === '/none' ? 404 : 200, { 'content-type': type })
    response.end(Buffer.from(`<h1>caf\u00e9 ${url}</h1><p>${headers.accept}`, 'latin1'))
  })
  const out = t.testdir({})
  const run = async (...args: string[]) => await edgedLive(['convert', ...args])
  t.match(await run(`${site}/docs/a.html?b=1`), {
    status: 0,
    stdout: /^# caf\u00e9 \/docs\/a\.html\?b=1\n\ntext\/html/,
  })
  t.match(await run(`${site}/none`), { status: 1, stderr: /responded with 404/ })
  t.match(await run(`${site}/data`), { status: 4, stderr: /application\/json/ })
  const closed = createServer().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const { port } = closed.address() as AddressInfo
  closed.close()
  t.match(await run(`http://127.0.0.1:${port}/`), { status: 1, stderr: /ECONNREFUSED/ })
  t.match(await run('-o', out, `${site}/docs/a.html`, `${site}/b/`, `${site}/none`, `${site}/`), { status: 1 })
  t.same(readdirSync(out).sort(), ['127.0.0.1.md', 'a.md', 'b.md'])
})

t.test('a start that waits for Redis ends with SIGTERM', { skip: unbuilt, timeout: 60_000 }, async (t) => {
  const folder = testFolder(t)
  const listen = { listen: '127.0.0.1:0' }
  const port = await freePort()
  const config = { store: `redis://127.0.0.1:${port}/0`, proxy: listen, control: listen, admin: listen }
  writeFileSync(join(folder, 'edged.yaml'), JSON.stringify(config))
  const args = [CLI, 'serve', '-c', join(folder, 'edged.yaml')]
  const child = spawn(process.execPath, args, { cwd: folder, env: { PATH: process.env['PATH'] } })
  t.teardown(() => child.kill('SIGKILL'))
  let lines = ''
  await new Promise<void>((awaited) => {
    child.stdout.on('data', (text: Buffer) => {
      lines += text.toString()
      if (lines.includes('store_awaited')) awaited()
    })
  })
  child.kill('SIGTERM')
  const [code] = (await once(child, 'close')) as [number | null]
  t.equal(code, 0)
  t.match(lines, /"event":"stopped"/)
})

t.test('secrets rotate: a new key as the first line of the key file', options, async (t) => {
  const folder = testFolder(t)
  const file = join(folder, 'edged.yaml')
  writeFileSync(file, 'data: ./data\nsecrets: { key_file: ./keys }\n')
  const [old, next] = ['01', '02'].map((byte) => `${byte.repeat(32)}\n`)
  const rotate = (...keys: readonly (string | undefined)[]) => {
    writeFileSync(join(folder, 'keys'), keys.join(''), { mode: 0o600 })
    return edged(['secrets', 'rotate', '-c', file])
  }
  t.match(rotate(old), { status: 0, stdout: '{"resealed":0,"failed":0}\n' })
  t.match(rotate(next), { status: 1, stderr: /configure that key, or name it in secrets\.old_keys/ })
  t.match(rotate(next, old), { status: 0, stdout: '{"resealed":1,"failed":0}\n' })
  t.match(rotate(next), { status: 0, stdout: '{"resealed":0,"failed":0}\n' })
  t.match(rotate(old), { status: 1 })
})
