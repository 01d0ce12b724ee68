import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { readConfig } from '../../../src/config/load.js'
import { testFolder } from '../../helpers/folder.js'
import { fixtureFolder, fixturesOf, importFile, importText, type Kind } from '../../helpers/imported.js'
import { programArgs } from '../../helpers/program.js'

const KINDS: readonly Kind[] = ['caddy', 'nginx']
const VALUES = { PORT: 8080, ORIGIN: 9001, ORIGIN2: 9002 }

interface Zone {
  name: string
  hostnames: string[]
  origin?: string
  paths?: { path: string }[]
  rules?: Record<string, { expression: string; action: string; action_parameters?: object; ratelimit?: object }[]>
}
const zonesOf = (yaml: string): Zone[] => (parse(yaml) as { zones: Zone[] }).zones

for (const kind of KINDS)
  t.test(`what is imported from ${kind} is a valid configuration`, async (t) => {
    const folder = fixtureFolder(t, kind, VALUES)
    const names = fixturesOf(kind)
    t.ok(names.length >= 6, 'there are configurations')
    for (const name of names) {
      const { yaml } = importFile(kind, join(folder, name))
      t.doesNotThrow(() => readConfig(yaml, join(folder, 'edged.yaml')), name)
    }
  })

const NGINX_CONDITIONS: readonly [what: string, locations: string, path: string, expression: string][] = [
  ['an exact path', 'location = /x { return 403; }', '/x', 'http.request.uri.path eq "/x"'],
  [
    'a prefix without a longer one and patterns',
    'location /x { return 403; } location /x/y { return 404; } location ~ \\.a$ { return 405; }',
    '/x',
    'starts_with(http.request.uri.path, "/x") and not starts_with(http.request.uri.path, "/x/y") and not http.request.uri.path matches r"\\.a$"',
  ],
  [
    'a prefix that excludes patterns',
    'location ^~ /x { return 403; } location ~ \\.a$ { return 405; }',
    '/x',
    'starts_with(http.request.uri.path, "/x")',
  ],
  [
    'a pattern without earlier ones, exact paths and strong prefixes',
    'location ~ b { return 403; } location ~* \\.A$ { return 403; } location = /1.a { return 404; } location ^~ /x { return 405; }',
    'A',
    'http.request.uri.path matches r"(?i)\\.A$" and not http.request.uri.path eq "/1.a" and not http.request.uri.path matches r"b" and not starts_with(http.request.uri.path, "/x")',
  ],
]
t.test('rules of locations match what nginx would choose', async (t) => {
  for (const [what, locations, path, expression] of NGINX_CONDITIONS) {
    const { yaml } = importText('nginx', `server { listen 80; server_name a.test; ${locations} }`)
    const rules = Object.values(zonesOf(yaml)[0]!.rules!).flat()
    t.ok(
      rules.some((rule) => rule.expression === expression),
      `${what} (${path}): ${rules.map((rule) => rule.expression).join('\n')}`,
    )
  }
})

const FAULTS: readonly [kind: Kind, text: string, place: string][] = [
  ['nginx', 'server { listen 80', '1:1: listen of line 1 has no ; at its end'],
  ['nginx', 'server {\n  listen 80;\n', '1:1: the block has no closing }'],
  ['nginx', 'server { }\n}', '2:1: there is no block for this }'],
  ['nginx', 'server {\n  return 200 "a;\n}', 'a quote " of line 2 has no end'],
  ['caddy', 'a.test {\n\trespond 404\n', '1:1: the block has no closing }'],
  ['caddy', 'a.test {\n\trespond "x\n}\n', '2:10: the quote " has no end'],
  ['caddy', 'a.test {\n\timport nothing\n}\n', '2:1: there is no snippet or file nothing'],
  ['caddy', '(a) {\n\timport b\n}\n(b) {\n\timport a\n}\na.test {\n\timport a\n}\n', 'the snippet a imports itself'],
]
t.test('faults of a file have a place', async (t) => {
  for (const [kind, text, message] of FAULTS) {
    const file = join(testFolder(t), `in.${kind}`)
    writeFileSync(file, text)
    const { status, stderr, stdout } = run(kind, file)
    t.equal(status, 2, text)
    t.match(stderr, message)
    t.match(stderr, `${file}:`)
    t.equal(stdout, '')
  }
})

const CLI = new URL('../../../src/cli.ts', import.meta.url)
const run = (...args: string[]) =>
  spawnSync(process.execPath, [...programArgs(CLI), 'import', ...args], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] },
  })

t.test('the command writes a new file, and says what it leaves out', async (t) => {
  const folder = testFolder(t, {
    'all.conf':
      'server { listen 80; server_name a.test; location / { proxy_pass http://127.0.0.1:1; proxy_set_header Host $host; } }',
    'some.conf':
      'server { listen 80; server_name a.test;\n lua_code_cache on;\n location / { proxy_pass http://127.0.0.1:1; } }',
    'kept.yaml': 'mine',
  })
  const all = run('nginx', join(folder, 'all.conf'))
  t.strictSame([all.status, all.stderr], [0, ''])
  t.equal(zonesOf(all.stdout)[0]!.origin, 'http://127.0.0.1:1')
  const some = run('nginx', join(folder, 'some.conf'), '-o', join(folder, 'new.yaml'))
  t.equal(some.status, 6)
  t.equal(some.stderr, `${join(folder, 'some.conf')}:2: lua_code_cache on: edged import does not know the directive\n`)
  t.equal(zonesOf(readFileSync(join(folder, 'new.yaml'), 'utf8')).length, 1)
  const kept = run('nginx', join(folder, 'all.conf'), '-o', join(folder, 'kept.yaml'))
  t.equal(kept.status, 2)
  t.match(kept.stderr, 'exists already')
  t.equal(readFileSync(join(folder, 'kept.yaml'), 'utf8'), 'mine')
  t.equal(run('nginx', join(folder, 'nowhere.conf')).status, 2)
})

t.test('files that include each other end', async (t) => {
  const folder = testFolder(t, { 'a.conf': 'include b.conf;', 'b.conf': 'include a.conf;', deep: {} })
  t.throws(() => importFile('nginx', join(folder, 'a.conf')), /includes itself/)
})

t.test('scripts are not served as files', async (t) => {
  const nginx = importText(
    'nginx',
    'server { listen 80; server_name a.test; root /srv; location ~ \\.php$ { fastcgi_pass unix:/x; } }',
  )
  t.match(zonesOf(nginx.yaml)[0]!.rules!['http_request_firewall_custom'], [
    { expression: 'http.request.uri.path matches r"\\.php$"', action: 'block' },
  ])
  t.match(nginx.lines.join('\n'), 'FILE.nginx:1: fastcgi_pass')
  const caddy = importText('caddy', 'http://a.test {\n\troot * /srv\n\tphp_fastcgi localhost:9000\n\tfile_server\n}\n')
  t.match(zonesOf(caddy.yaml)[0]!.rules!['http_request_firewall_custom'], [{ expression: 'true', action: 'block' }])
})

t.test('protection with a matcher that rules lack protects everything', async (t) => {
  const { yaml, lines } = importText(
    'caddy',
    'http://a.test {\n\t@x expression {path}.size() > 1\n\tbasicauth @x {\n\t\tann $2b$05$wXMVOxWhVJcBH7OZBS3Xq.GP8y1CP.WpmLXiLvbFI52YAGDf2Hhge\n\t}\n\treverse_proxy 127.0.0.1:1\n}\n',
  )
  t.match(zonesOf(yaml)[0], { auth: { basic: { users: { ann: /^\$2/ } } } })
  t.match(lines.join('\n'), 'it protects all requests here')
})

t.test('servers that only redirect to HTTPS become a setting', async (t) => {
  const secure = (name: string) =>
    `server { listen 443 ssl; server_name ${name}; location / { proxy_pass http://127.0.0.1:1; proxy_set_header Host $host; } }`
  for (const names of ['server_name a.test b.test;', 'server_name _;']) {
    const plain = `server { listen 80 default_server; ${names} return 301 https://$host$request_uri; }`
    const { yaml, lines } = importText('nginx', plain + secure('a.test') + secure('b.test'))
    t.strictSame(lines, [], names)
    t.match(zonesOf(yaml), [
      { name: 'a.test', origin: 'http://127.0.0.1:1', settings: { always_use_https: 'on' } },
      { name: 'b.test', origin: 'http://127.0.0.1:1', settings: { always_use_https: 'on' } },
    ])
  }
})
