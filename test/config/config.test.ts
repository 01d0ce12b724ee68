import addFormats from 'ajv-formats'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { globSync } from 'tinyglobby'
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { documented } from '../../src/config/document.js'
import { forEditors } from '../../src/config/editor-schema.js'
import { loadConfig, readConfig, type BadConfig } from '../../src/config/load.js'
import { PipelineFile } from '../../src/config/pipeline.js'
import { RENAMED } from '../../src/config/renamed.js'
import { ConfigFile } from '../../src/config/schema.js'
import { systemClock } from '../../src/core/clock.js'
import { silentLog } from '../../src/core/log.js'
import { destinationChecks } from '../../src/daemon/pipelines/destinations.js'
import { ACCOUNT, faults, zone, ZONE } from './setup.js'

t.test('an empty file is rejected', async (t) => {
  for (const text of ['', '# nothing\n']) t.match(faults(text), [/^f\.yaml:1:1: is empty/])
})

t.test('every option has its default', async (t) => {
  const config = readConfig('{}', '/etc/edged/f.yaml', {})
  t.match(config, {
    data: '/etc/edged/data',
    store: 'embedded',
    secrets: { key_file: '/etc/edged/data/secret.key' },
    proxy: { listen: '127.0.0.1:8080', drain_timeout: 30_000, limits: { header_bytes: 16_384 } },
    zones: [],
    egress: { allow_cidrs: [], resolver_overrides: {} },
  })
  t.match(readConfig('egress: { ca_file: ca.pem }', '/etc/edged/f.yaml', {}).egress, { ca_file: '/etc/edged/ca.pem' })
  t.match(readConfig(zone(), 'f.yaml', {}).zones[0], {
    plan: 'pro',
    settings: { content_converter: 'off' },
    websockets: true,
    balance: 'round_robin',
    retries: 1,
  })
})

const REFUSED: [what: string, text: string, fault: string | RegExp][] = [
  ['an unknown key', 'proxi: {}', 'f.yaml:1:1: proxi is not a known member, did you mean proxy'],
  ['an unknown key deep inside', 'proxy:\n  limits:\n    foo: 1', 'f.yaml:3:5: proxy.limits.foo is not a known member'],
  ['a missing key', zone().replace('    name: a.test\n', ''), 'f.yaml:3:5: zones.0.name is required'],
  [
    'a duration without a unit',
    'proxy: { drain_timeout: 30 }',
    /^f.yaml:1:10: proxy.drain_timeout must be a number with/,
  ],
  [
    'a listener without a port',
    'proxy: { listen: localhost }',
    /^f.yaml:1:10: proxy.listen must be an address and a port/,
  ],
  ['a port that is none', 'admin: { listen: "127.0.0.1:70000" }', /^f.yaml:1:10: admin.listen has a port above 65535/],
  [
    'a port of machines',
    'machines: { advertise: "a.test:70000" }',
    /^f.yaml:1:13: machines.advertise has a port above 65535/,
  ],
  [
    'no address for machines',
    'machines: { listen: "0.0.0.0:7946" }',
    /machines.advertise must be the address by which/,
  ],
  [
    'a zone of an unknown account',
    zone().replace(`id: ${ACCOUNT}`, `id: ${ZONE}`),
    /^f.yaml:4:5: zones.0.account names no/,
  ],
  [
    'a permission that there is not',
    "tokens:\n  - name: a\n    token: a-token-of-twenty-letters\n    permissions: ['*', Zone Setting Write]",
    'f.yaml:4:24: tokens.0.permissions.1 is not a permission: Zone Setting Write; did you mean Zone Settings Write?',
  ],
  [
    'a key for an account of another form',
    "legacy_keys:\n  - email: a@b.test\n    key: a-key-of-twenty-letters\n    permissions: ['*']\n    accounts: [x]",
    'f.yaml:5:16: legacy_keys.0.accounts.0 must be 32 digits of 0-9 and a-f, or *',
  ],
  [
    'an id of digits only, without quotes',
    `accounts:\n  - { id: ${'1'.repeat(32)}, name: a }`,
    `f.yaml:2:7: accounts.0.id must be 32 digits of 0-9 and a-f; put quotes around it: "${'1'.repeat(32)}"`,
  ],
  [
    'an id that reads as a number with an exponent',
    zone().replaceAll(ACCOUNT, `${'1'.repeat(15)}e${'2'.repeat(16)}`),
    /accounts.0.id must be 32 digits of 0-9 and a-f; put quotes around it: "1+e2+"$/,
  ],
  [
    'a short id of digits',
    'accounts:\n  - { id: 12, name: a }',
    'f.yaml:2:7: accounts.0.id must be 32 digits of 0-9 and a-f',
  ],
  [
    'a token of digits only',
    'tokens:\n  - { name: a, token: 12345678901234567890, permissions: ["*"] }',
    /tokens.0.token must be a string, but is \d+; put quotes around it: "12345678901234567890"$/,
  ],
  [
    'two listeners at one address',
    'control: { listen: "127.0.0.1:8080" }',
    'f.yaml:1:12: control.listen 127.0.0.1:8080 is the address of proxy.listen; choose another port',
  ],
  [
    'a list in place of sections',
    '[1]',
    /^f.yaml:1:1: must have sections such as `zones:`; `edged schema config --yaml`/,
  ],
  ['tabs', 'zones:\n\t- a', 'f.yaml:2:1: Tabs are not allowed as indentation; use spaces'],
  ['two keys of one name', 'data: a\ndata: b', /^f.yaml:2:1: Map keys must be unique/],
  ['broken YAML', 'data: [', /^f.yaml:1:8: /],
  ['an alias of nothing', 'data: &a x\nstore: *b', 'f.yaml:2:8: *b is not an anchor above'],
  ['an alias before its anchor', 'data: *a\nstore: &a x', 'f.yaml:1:7: *a is not an anchor above'],
  [
    'a file of aliases of aliases',
    [
      'a: &a [x, x, x, x, x, x, x, x]',
      ...'bcdefg'
        .split('')
        .map((name, at) => `${name}: &${name} [${Array.from({ length: 8 }, () => `*${'abcdef'[at]}`).join()}]`),
    ].join('\n'),
    /^f.yaml:1:1: uses aliases too often/,
  ],
  ['a second document', 'data: a\n---\ndata: b', /^f.yaml:2:1: a second document begins here/],
  ['a variable that is not set', 'data: ${NOWHERE}', /^f.yaml:1:7: the environment has no NOWHERE; set it, or write/],
  [
    'a free zone with conversion',
    zone('    plan: free\n    settings: { content_converter: on }'),
    /not available on the free plan/,
  ],
  ['an origin with a path', zone().replace('http://127.0.0.1:1', 'http://a/b'), /^f.yaml:6:5: zones.0.origin must be/],
  [
    'a zone without an origin',
    zone().replace('origin: http://127.0.0.1:1', 'plan: pro'),
    /zones.0.origin is required; set origin, origins for several, or root/,
  ],
  [
    'origin and origins',
    zone('    origins: [{ url: "http://a" }]'),
    /zones.0.origins cannot be used together with origin/,
  ],
  [
    'the same origin twice',
    zone().replace('origin: http://127.0.0.1:1', 'origins: [{ url: "http://a/" }, { url: "http://A" }]'),
    /zones.0.origins.1.url http:\/\/A is a duplicate; set weight/,
  ],
  ['an unknown way to balance', zone('    balance: random'), /zones.0.balance must be round_robin, least_requests, cl/],
  ['a status of a check', zone('    health: { status: ok }'), /zones.0.health.status must be statuses and ranges/],
  [
    'a host name that is none',
    zone('    hostnames: ["a b"]'),
    /^f.yaml:7:17: zones.0.hostnames.0 is not a host name: a b/,
  ],
  [
    'a zone name that is none',
    zone().replace('a.test', '"b test"'),
    /^f.yaml:5:5: zones.0.name is not a host name: b test/,
  ],
  [
    'a zone name with a wildcard',
    zone().replace('a.test', '"*.b.test"'),
    /zones.0.name is not a host name: \*.b.test; wildcards belong in hostnames/,
  ],
  [
    'a zone name in Unicode',
    zone().replace('a.test', 'bücher.test'),
    /zones.0.name is not a host name: bücher.test; write it as xn--bcher-kva.test/,
  ],
  [
    'an opening without a port',
    'egress: { allow_cidrs: [10.0.0.0/8] }',
    /^f.yaml:1:25: egress.allow_cidrs.0 must be a CIDR and a port/,
  ],
  [
    'an override that is no address',
    'egress: { resolver_overrides: { a.test: [b] } }',
    /^f.yaml:1:42: egress.resolver_overrides.a.test.0 must be an address/,
  ],
  [
    'a pipeline file',
    'source: stdin\ndataset: http_requests',
    'f.yaml:1:1: is a pipeline file: edged run FILE runs it',
  ],
  ['no CIDR', 'proxy: { trusted_proxies: [nobody] }', /^f.yaml:1:28: proxy.trusted_proxies.0 must be a CIDR/],
  ['too long a prefix', 'proxy: { trusted_proxies: [10.0.0.0/33] }', /proxy.trusted_proxies.0 must be a CIDR/],
  ['two prefixes', 'proxy: { trusted_proxies: [10.0.0.0/8/8] }', /proxy.trusted_proxies.0 must be a CIDR/],
  ['a short address', 'proxy: { trusted_proxies: [10.1/8] }', /proxy.trusted_proxies.0 must be a CIDR/],
  ['no CIDR', 'control: { trusted_proxies: [nobody] }', /control.trusted_proxies.0 must be a CIDR/],
  ['a list where an object belongs', 'proxy: []', /^f.yaml:1:1: proxy must be an object, but is an array/],
  [
    'a short token',
    'tokens: [{ name: a, token: short, permissions: ["*"] }]',
    /^f.yaml:1:21: tokens.0.token must be at least \d+ characters long, but has 5/,
  ],
]
for (const [what, text, fault] of REFUSED) {
  t.test(`${what} is rejected, with line and column`, async (t) => {
    const [first = ''] = faults(text)
    if (typeof fault === 'string') t.equal(first, fault)
    else t.match(first, fault)
  })
}

t.test('all issues are reported together', async (t) => {
  t.equal(faults('foo: 1\nbar: 2\nproxy: { listen: x }').length, 3)
})

t.test('an issue of one zone does not hide those of other zones, which keep their positions', async (t) => {
  const text = `${zone()}    orign: x\n  - { id: ${ZONE}, account: ${ZONE}, name: '*.b.test', origin: demo, hostnames: [c.test] }\n  - { id: ${ACCOUNT}, account: ${ACCOUNT}, name: d.test, origin: demo, hostnames: [c.test] }`
  t.strictSame(faults(text), [
    'f.yaml:7:5: zones.0.orign is not a known member, did you mean origin',
    `f.yaml:8:45: zones.1.account names no entry of accounts: ${ZONE}; add it there, or use ${ACCOUNT}`,
    'f.yaml:8:88: zones.1.name is not a host name: *.b.test; wildcards belong in hostnames',
    'f.yaml:9:128: zones.2.hostnames.0 c.test belongs to zone *.b.test already',
  ])
  t.match(faults(text.replace('    orign: x\n', '')), [
    /zones.1.id 9f1839b6152d298aca64c4e906b6d074 is listed twice/,
    /zones.1.account names no entry of accounts: 9f1839b6152d298aca64c4e906b6d074; add it there, or use 023e105f/,
    /zones.1.name/,
    /zones.2.hostnames.0/,
  ])
})

t.test('an unknown account or zone does not hide behind other issues', async (t) => {
  const other = 'e'.repeat(32)
  const pipeline = (source: string) =>
    `  - { source: { ${source} }, dataset: http_requests, destination_conf: 'file:out' }\n`
  const text = `${zone().replace(`account: ${ACCOUNT}`, `account: ${other}`)}    orign: x
pipelines:
${pipeline(`zone: ${ZONE}`)}${pipeline(`zone: ${other}`)}${pipeline(`account: ${other}`)}`
  const found = faults(text)
  t.equal(found.length, 4, found.join('\n'))
  for (const part of ['zones.0.account names no', 'zones.0.orign', 'pipelines.1.source.zone', 'pipelines.2.source.acc'])
    t.ok(
      found.some((line) => line.includes(part)),
      part,
    )
  // The account of a zone can be the one whose id is wrong.
  t.strictSame(
    faults(text.replace(`accounts: [{ id: ${ACCOUNT}`, 'accounts: [{ id: short')).filter((line) =>
      /names no/.test(line),
    ),
    [],
  )
})

t.test('a malformed token or legacy key does not hide unknown permissions of the others', async (t) => {
  const access = (rest: string) => `permissions: [${rest}], accounts: ["*"], zones: [x]`
  const text = `tokens:
  - { name: a, token: short, ${access('"*"')} }
  - { name: b, token: ${'b'.repeat(20)}, ${access('nope')} }
legacy_keys:
  - { email: a, ${access('"*"')} }
  - { email: b@c.test, key: ${'b'.repeat(37)}, ${access('nope')} }`
  const found = faults(text).map((line) => line.split(':').slice(1, 4).join(':').split(' ', 2).join(' '))
  for (const place of ['3:', '6:'])
    for (const list of ['permissions', 'zones'])
      t.ok(
        found.some((line) => line.startsWith(place) && line.includes(`.1.${list}.0`)),
        `${place} ${list} in ${found.join()}`,
      )
})

t.test('the limit of cached files is a number of bytes, and has a default', async (t) => {
  const disk = (text: string) => readConfig(`cache: ${text}`, '/etc/edged/f.yaml', {}).cache.disk
  t.strictSame(disk('{ disk: { folder: ./files, bytes: 1GB } }'), { folder: '/etc/edged/files', bytes: 1e9 })
  t.strictSame(disk('{ disk: { folder: ./files } }'), { folder: '/etc/edged/files', bytes: 1e10 })
  t.equal(disk('{ disk: null }'), undefined)
})

// Units and defaults of an object in a union would not be applied.
t.test('no duration, size or default of an object is part of a union', async (t) => {
  const found: string[] = []
  const visit = (schema: unknown, path: string, isInUnion: boolean): void => {
    if (schema === null || typeof schema !== 'object') return
    if (isInUnion && ('x-unit' in schema || 'default' in schema)) found.push(path)
    for (const [key, value] of Object.entries(schema))
      if (key !== 'default' && key !== 'examples')
        visit(value, `${path}/${key}`, isInUnion || key === 'anyOf' || key === 'oneOf')
  }
  visit(ConfigFile, '', false)
  t.strictSame(found, [])
})

t.test('an issue in one section does not hide those of others', async (t) => {
  const text = zone(`
    plan: free
    settings: { content_converter: on }
proxy: { listen: x }
egress: { allow_cidrs: [10.0.0.0/8] }
logpush: { dead_letter: 'nope:' }
pipelines:
  - { source: { zone: ${ACCOUNT} }, dataset: dns_logs, destination_conf: 'nope:' }
  - { source: { zone: ${ACCOUNT} }, dataset: dns_logs, destination_conf: 'https://a.test/' }
`)
  try {
    const checks = destinationChecks({ clock: systemClock, log: silentLog })
    readConfig(text, 'f.yaml', {}, checks)
    t.fail('it is taken')
  } catch (error) {
    t.strictSame(
      (error as BadConfig).faults.map(({ line, message }) => `${line} ${message.split(' ', 1)[0]}`),
      [
        '9 zones.0.settings.content_converter',
        '10 proxy.listen',
        '11 egress.allow_cidrs.0',
        '12 logpush.dead_letter',
        '14 pipelines.0.destination_conf',
        '15 pipelines.1.source.zone',
      ],
    )
  }
  const orphan = zone().replace(`id: ${ACCOUNT}`, 'id: nobody')
  t.same(faults(orphan).length, 1, 'what only follows from another issue is not reported')
  const other = 'admin: { listen: "127.0.0.1:99999" }\negress: { allow_cidrs: [nowhere] }'
  t.match(
    faults(`${orphan}\n${other}`),
    [/^f.yaml:\d+:\d+: accounts/, /admin.listen has a port/, /egress.allow_cidrs.0/],
    'an issue of accounts or zones does not hide those of other sections',
  )
})

t.test('the environment is read inside scalars', async (t) => {
  const environment = { NAME: 'b.test', LEVEL: 'warn', EMPTY: '' }
  const text = zone('    hostnames: ["${NAME}", "x.${EMPTY:-c.test}"]\nlog: { level: "${LEVEL}" }\ndata: "a$${b}"')
  const config = readConfig(text, '/f.yaml', environment)
  t.strictSame(config.zones[0]?.hostnames, ['b.test', 'x.c.test'])
  t.equal(config.log.level, 'warn')
  t.equal(config.data, '/a${b}')
})

t.test('a plain scalar from the environment can be a number, a quoted one stays text', async (t) => {
  const config = readConfig('proxy:\n  limits:\n    header_count: ${COUNT}', 'f.yaml', { COUNT: '7' })
  t.equal(config.proxy.limits.header_count, 7)
  t.match(faults('proxy:\n  limits:\n    header_count: "${COUNT}"', { COUNT: '7' }), [
    /header_count must be an integer, but is a string/,
  ])
})

t.test('an option that was renamed is reported with its new name', async (t) => {
  t.match(faults('logpush:\n  uploads:\n    at_once: 3'), [
    'f.yaml:3:5: unknown option `at_once`; it is now `in_flight`',
  ])
  for (const [pointer, now] of Object.entries(RENAMED)) {
    const names = pointer.slice(1).split('/')
    const yaml = names.map((name, depth) => `${'  '.repeat(depth)}${name}:`).join('\n')
    t.match(faults(`${yaml} 1`).join(), `unknown option \`${names.at(-1)}\`; it is now \`${now}\``, pointer)
  }
})

t.test('full.yaml matches the schema and is valid', async (t) => {
  const file = join(import.meta.dirname, '../../config/full.yaml')
  t.equal(readFileSync(file, 'utf8'), documented(ConfigFile), 'print it again: edged schema config --yaml')
  t.doesNotThrow(() => loadConfig(file, { EDGED_ADMIN_TOKEN: 'a-token-of-forty-characters-or-so' }))
})

// Editors reported every option with a default as missing, in every file.
t.test('the schemas for editors accept the bundled files, and reject what edged rejects', async (t) => {
  const validator = (schema: object) => addFormats.default(new Ajv2020({ strict: false })).compile(forEditors(schema))
  const config = validator(ConfigFile)
  const pipelineFile = validator(PipelineFile)
  const root = join(import.meta.dirname, '../../config')
  // The container's files take values from the environment, which patterns do not know.
  const files = globSync('**/*.yaml', { cwd: root, ignore: ['container/**', 'prometheus/**'] })
  t.ok(files.length >= 8, `${files.length} files`)
  for (const file of files) {
    const validate = file.startsWith('pipelines') ? pipelineFile : config
    t.ok(validate(parse(readFileSync(join(root, file), 'utf8'))), file)
    t.same(validate.errors, null, file)
  }
  const zone = { id: ZONE, account: ACCOUNT, name: 'a.test', origin: 'demo' }
  t.ok(config({ zones: [zone] }))
  const absent = { access_log: null, cache: { disk: null }, control: { tls: null }, egress: { ca_file: null } }
  t.ok(config(absent), 'null is the absence of an option')
  for (const wrong of [{ proxi: {} }, { zones: [{ ...zone, account: undefined }] }, { proxy: { drain_timeout: 30 } }])
    t.notOk(config(JSON.parse(JSON.stringify(wrong))), JSON.stringify(wrong))
  const whole = { source: 'stdin', dataset: 'dns_logs', destination_conf: 'stdout://' }
  t.ok(pipelineFile({ pipelines: [whole] }))
  for (const wrong of [{ ...whole, source: 'stdim' }, { source: 'stdin', dataset: 'dns_logs' }, { pipelines: [] }])
    t.notOk(pipelineFile(wrong), JSON.stringify(wrong))
})

t.test('a dead letter destination must be one that jobs can have', (t) => {
  const checks = destinationChecks({ clock: systemClock, log: silentLog })
  const read = (more: string) => () => readConfig(`logpush:\n  ${more}`, '/etc/edged/f.yaml', {}, checks)
  const under = 'destinations: { allow_file_under: [dead] }'
  t.doesNotThrow(read(`dead_letter: file:///etc/edged/dead/a\n  ${under}`))
  t.throws(
    read(`${under}\n  dead_letter: file:///etc/edged/other`),
    /f.yaml:3:3: logpush.dead_letter is not below a folder/,
  )
  t.throws(read('dead_letter: http://a.test/'), /f.yaml:2:3: logpush.dead_letter must use TLS/)
  t.throws(
    read('dead_letter: http://10.0.0.5:9000/in'),
    /must use TLS; .*allow_plain_http: true, and with egress\.allow_cidrs: \["10\.0\.0\.5\/32:9000"\]/,
  )
  t.throws(read('dead_letter: "stdout:"'), /logpush.dead_letter is allowed in pipeline files only/)
  t.throws(read('dead_letter: nowhere'), /logpush.dead_letter must begin with/)
  t.end()
})

for (const name of ['demo', 'minimal']) {
  t.test(`${name}.yaml is valid`, async (t) => {
    t.doesNotThrow(() => loadConfig(join(import.meta.dirname, `../../config/${name}.yaml`), {}))
  })
}

t.test('a missing file is an issue', async (t) => {
  t.throws(() => loadConfig('/nowhere/f.yaml'), {
    name: 'BadConfig',
    message: /^\/nowhere\/f.yaml:1:1: no such file/,
  })
})

// A daemon with a missing authority file ended with the code 1, and `edged check` found nothing.
t.test('every file of authorities is checked', async (t) => {
  const files = ['a.pem', 'b.pem', 'c.pem', 'd.pem']
  const another = `  - { id: ${'b'.repeat(32)}, account: ${ACCOUNT}, name: b.test, origin: demo, origin_ca_file: a.pem }\n`
  const text =
    zone(`    origin_ca_file: a.pem\n    client_ca_file: b.pem\n${another}egress: { ca_file: c.pem }\n`) +
    'proxy: { tls: { acme: { email: a@b.test, agree_to_terms: true, ca_file: d.pem } } }'
  const nothing = () => undefined
  const checks = {
    destination: nothing,
    locator: () => nothing,
    transform: () => 'is not read',
    jobDestination: nothing,
    certificate: nothing,
    program: nothing,
    usersFile: nothing,
  }
  const checked: string[] = []
  const authority = (file: string) => {
    checked.push(basename(file))
    return `cannot read ${basename(file)}`
  }
  try {
    readConfig(text, '/etc/edged/f.yaml', {}, { ...checks, authority })
    t.fail('was accepted')
  } catch (error) {
    const { message } = error as BadConfig
    t.match(message, /egress.ca_file cannot read c.pem/)
    t.match(message, /proxy.tls.acme.ca_file cannot read d.pem/)
    t.match(message, /zones.0.client_ca_file cannot read b.pem/)
    t.match(message, /zones.0.origin_ca_file cannot read a.pem/)
    t.match(message, /zones.1.origin_ca_file cannot read a.pem/)
  }
  t.same(checked.sort(), files, 'each file is read once')
})

t.test('dns-01 and its command need each other; on_demand asks a URL', (t) => {
  const acme = (more: string) =>
    zone('') + `proxy: { tls: { acme: { email: a@b.test, agree_to_terms: true, ${more} } } }`
  const faultsOf = (more: string) => {
    try {
      readConfig(acme(more), '/etc/edged/f.yaml', {})
      return ''
    } catch (error) {
      return (error as BadConfig).message
    }
  }
  t.match(faultsOf('challenges: [dns-01]'), /acme.challenges has dns-01, which needs dns: \{ command/)
  t.match(faultsOf('dns: { command: [./hook] }'), /acme.dns is never run; add dns-01 to challenges/)
  t.match(faultsOf('on_demand: { ask: "ftp://x/y" }'), /on_demand.ask must be an http or https URL/)
  t.match(faultsOf('on_demand: { per_hour: 0 }'), /per_hour/)
  const read = readConfig(
    acme('challenges: [dns-01], dns: { command: [./hook, a] }, on_demand: {}'),
    '/etc/edged/f.yaml',
    {},
  ).proxy.tls?.acme
  t.match(read, { www: true, on_demand: { ask: null, per_hour: 20 }, dns: { command: ['/etc/edged/hook', 'a'] } })
  const named = readConfig(acme('challenges: [dns-01], dns: { command: [hook] }'), '/etc/edged/f.yaml', {}).proxy.tls
    ?.acme
  t.same([named?.dns, named?.on_demand], [{ command: ['hook'] }, undefined], 'found by PATH')
  t.end()
})
