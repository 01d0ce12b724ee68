/** What is wrong, the metadata besides `main_module`, and each error: its code, and where it is. */
export type BadUpload = readonly [
  what: string,
  metadata: object,
  ...errors: (readonly [code: number, pointer: string])[],
]

const bad =
  (prefix: string) =>
  (what: string, metadata: object, ...pointers: string[]): BadUpload => [
    what,
    metadata,
    ...pointers.map((p) => [10021, prefix + p] as const),
  ]

const top = bad('')
const notOf = (type: string, member: string, values: readonly unknown[]): BadUpload[] =>
  values.map((value) =>
    top(`${member} that is not ${type}: ${JSON.stringify(value)?.slice(0, 30)}`, { [member]: value }, `/${member}`),
  )

const SIMPLE: BadUpload[] = [
  top(
    'members that do not fit beside a binding that does not',
    { compatibility_date: 'x', bindings: [{ name: 'a', type: 'nope' }] },
    '/compatibility_date',
    '/bindings/0/type',
  ),
  ...notOf('a text', 'main_module', [1, null, {}, '']),
  ...notOf('a date', 'compatibility_date', [1, '', '2026', '2026-13-01', '2026-02-30', '20260101', '2026-1-1']),
  ...notOf('a list', 'compatibility_flags', ['x', {}, null]),
  top('a flag that is no text', { compatibility_flags: ['a', 1] }, '/compatibility_flags/1'),
  top('an empty flag', { compatibility_flags: [''] }, '/compatibility_flags/0'),
  ...notOf('a boolean', 'logpush', ['yes', 1, null]),
  ...notOf('a boolean', 'keep_assets', ['yes', 1, null]),
  ...notOf('a list', 'keep_bindings', ['secret_text', null]),
  top('a kept type that is no text', { keep_bindings: [1] }, '/keep_bindings/0'),
  ...notOf('a model', 'usage_model', ['free', 1, null, '']),
  ...notOf('a list', 'tags', ['a', null]),
  top('a tag with a comma', { tags: ['a', 'b,c'] }, '/tags/1'),
  top('an empty tag', { tags: [''] }, '/tags/0'),
  top('too many tags', { tags: Array.from({ length: 101 }, (_, i) => `t${i}`) }, '/tags'),
  ...notOf('an object', 'limits', [1, 'x', null, []]),
  top('a limit of no time', { limits: { cpu_ms: 0 } }, '/limits/cpu_ms'),
  top('a limit of half a millisecond', { limits: { cpu_ms: 1.5 } }, '/limits/cpu_ms'),
  top('a limit beyond five minutes', { limits: { cpu_ms: 300_001 } }, '/limits/cpu_ms'),
  top('a limit that is no number', { limits: { subrequests: '5' } }, '/limits/subrequests'),
  ...notOf('a list', 'tail_consumers', ['x', {}]),
  top('a tail consumer without a service', { tail_consumers: [{ environment: 'x' }] }, '/tail_consumers/0/service'),
  top('a tail consumer with a numbered service', { tail_consumers: [{ service: 1 }] }, '/tail_consumers/0/service'),
  ...notOf('an object', 'cache_options', [true, null]),
  top('cache options that say nothing', { cache_options: {} }, '/cache_options/enabled'),
  top(
    'cache options of texts',
    { cache_options: { enabled: true, cross_version_cache: 'no' } },
    '/cache_options/cross_version_cache',
  ),
  ...notOf('an object', 'annotations', ['x', null]),
  top('a message that is no text', { annotations: { 'workers/message': 1 } }, '/annotations/workers~1message'),
  top('a tag of 101 bytes', { annotations: { 'workers/tag': 'a'.repeat(101) } }, '/annotations/workers~1tag'),
  top('a tag of 51 umlauts', { annotations: { 'workers/tag': 'ä'.repeat(51) } }, '/annotations/workers~1tag'),
  ...notOf('a list', 'package_dependencies', [{}, 'x']),
  top(
    'a dependency that lacks all',
    { package_dependencies: [{}] },
    '/package_dependencies/0/name',
    '/package_dependencies/0/packageJsonVersion',
    '/package_dependencies/0/installedVersion',
  ),
  ...notOf('a list', 'containers', [{}, 'x']),
  ...notOf('a list', 'bindings', [{}, 'x', null]),
  ...notOf('a map', 'exports', [[], 'x', null]),
  ...notOf('an object', 'migrations', [[], 'x', null]),
  ...notOf('an object', 'observability', [true, null, []]),
  ...notOf('an object', 'placement', ['smart', null, []]),
  ...notOf('an object', 'assets', ['x', null, []]),
  [
    'a deep value',
    { deep: JSON.parse('['.repeat(70) + ']'.repeat(70)) as unknown },
    [10021, `/deep${'/0'.repeat(63)}`],
  ],
]

const seen = bad('/observability')
const watched = (change: object) => ({ observability: { enabled: true, ...change } })
const OBSERVABILITY: BadUpload[] = [
  seen('observability that says nothing', { observability: {} }, '/enabled'),
  seen('observability of a text', { observability: { enabled: 'true' } }, '/enabled'),
  ...[-0.1, 1.1, 'x'].map((rate) =>
    seen(`a rate of ${rate}`, watched({ head_sampling_rate: rate }), '/head_sampling_rate'),
  ),
  ...[-1, 2].map((rate) =>
    seen(
      `a rate of ${rate} of logs`,
      watched({ logs: { enabled: true, invocation_logs: true, head_sampling_rate: rate } }),
      '/logs/head_sampling_rate',
    ),
  ),
  ...[-1, 2].map((rate) =>
    seen(
      `a rate of ${rate} of traces`,
      watched({ traces: { head_sampling_rate: rate } }),
      '/traces/head_sampling_rate',
    ),
  ),
  seen('logs that say nothing', watched({ logs: {} }), '/logs/enabled', '/logs/invocation_logs'),
  seen('logs of numbers', watched({ logs: { enabled: 1, invocation_logs: true } }), '/logs/enabled'),
  seen(
    'destinations that are no list',
    watched({ logs: { enabled: true, invocation_logs: true, destinations: 'x' } }),
    '/logs/destinations',
  ),
  seen('a destination that is no text', watched({ traces: { destinations: [1] } }), '/traces/destinations/0'),
  seen('a policy that there is not', watched({ traces: { propagation_policy: 'all' } }), '/traces/propagation_policy'),
  seen('a redaction that is no boolean', watched({ redact_query_string: 'yes' }), '/redact_query_string'),
  seen('issues that are no object', watched({ issues: true }), '/issues'),
  seen('issues of a text', watched({ issues: { enabled: 'x' } }), '/issues/enabled'),
]

const put = (what: string, placement: object, ...pointers: string[]) =>
  bad('/placement')(what, { placement }, ...pointers)
const PLACEMENT: BadUpload[] = [
  put('a placement that says nothing', {}, ''),
  put('an unknown mode', { mode: 'fast' }, '/mode'),
  put('smart with a region', { mode: 'smart', region: 'aws:us-east-1' }, '/region'),
  put('smart with a host name', { mode: 'smart', hostname: 'a.example' }, '/hostname'),
  put('smart with a host', { mode: 'smart', host: 'a.example:1' }, '/host'),
  put('smart with a target', { mode: 'smart', target: [{ region: 'a:b' }] }, '/target'),
  put('targeted at nothing', { mode: 'targeted' }, ''),
  put('two places', { region: 'a:b', hostname: 'a.example' }, '/hostname'),
  put('a region without a provider', { region: 'us-east-1' }, '/region'),
  put('a host without a port', { host: 'a.example' }, '/host'),
  put('a host name with a port', { hostname: 'a.example:1' }, '/hostname'),
  put('no targets', { mode: 'targeted', target: [] }, '/target'),
  put('two targets', { mode: 'targeted', target: [{ region: 'a:b' }, { region: 'a:c' }] }, '/target'),
  put('an empty target', { mode: 'targeted', target: [{}] }, '/target/0'),
  put('a target of two places', { mode: 'targeted', target: [{ region: 'a:b', host: 'a:1' }] }, '/target/0'),
  put('a target without a mode', { target: [{ region: 'a:b' }] }, '/mode'),
  put('an unknown status', { mode: 'smart', status: 'DONE' }, '/status'),
  put('a time that is none', { mode: 'smart', last_analyzed_at: 'today' }, '/last_analyzed_at'),
]

const entry = (what: string, change: object, ...pointers: string[]) =>
  bad('/exports/A')(what, { exports: { A: change } }, ...pointers)
const durable = (change: object) => ({ type: 'durable-object', ...change })
const EXPORTS: BadUpload[] = [
  entry('an entry without a type', {}, '/type'),
  entry('an entry of an unknown type', { type: 'object' }, '/type'),
  entry('an unknown state', durable({ state: 'gone', storage: 'sqlite' }), '/state'),
  entry('created without storage', durable({}), '/storage'),
  entry('unknown storage', durable({ storage: 'disk' }), '/storage'),
  ...['renamed_to', 'transferred_to', 'transfer_from'].map((field) =>
    entry(`created with ${field}`, durable({ storage: 'sqlite', [field]: 'b' }), `/${field}`),
  ),
  ...['storage', 'container', 'renamed_to', 'transferred_to', 'transfer_from'].map((field) =>
    entry(`deleted with ${field}`, durable({ state: 'deleted', [field]: 'b' }), `/${field}`),
  ),
  ...['storage', 'container', 'transferred_to', 'transfer_from'].map((field) =>
    entry(`renamed with ${field}`, durable({ state: 'renamed', renamed_to: 'B', [field]: 'b' }), `/${field}`),
  ),
  entry('renamed to nothing', durable({ state: 'renamed' }), '/renamed_to'),
  entry('renamed to itself', durable({ state: 'renamed', renamed_to: 'A' }), '/renamed_to'),
  entry('renamed to no name', durable({ state: 'renamed', renamed_to: '1B' }), '/renamed_to'),
  entry('renamed to a class that is not there', durable({ state: 'renamed', renamed_to: 'B' }), '/renamed_to'),
  ...['storage', 'container', 'renamed_to', 'transfer_from'].map((field) =>
    entry(
      `transferred with ${field}`,
      durable({ state: 'transferred', transferred_to: 'b', [field]: 'b' }),
      `/${field}`,
    ),
  ),
  entry('transferred to nobody', durable({ state: 'transferred' }), '/transferred_to'),
  entry(
    'transferred to a name that is none',
    durable({ state: 'transferred', transferred_to: 'Not A Script' }),
    '/transferred_to',
  ),
  entry('expecting nothing', durable({ state: 'expecting-transfer' }), '/storage', '/transfer_from'),
  ...['renamed_to', 'transferred_to'].map((field) =>
    entry(
      `expecting with ${field}`,
      durable({ state: 'expecting-transfer', storage: 'sqlite', transfer_from: 'b', [field]: 'b' }),
      `/${field}`,
    ),
  ),
  entry('a container without SQLite', durable({ storage: 'legacy-kv', container: 'c' }), '/container'),
  entry('a container that is no name', durable({ storage: 'sqlite', container: 1 }), '/container'),
  entry('a member that there is not', durable({ storage: 'sqlite', storag: 1 }), '/storag'),
  entry('a durable object with a cache', durable({ storage: 'sqlite', cache: { enabled: true } }), '/cache'),
  entry('a worker with storage', { type: 'worker', storage: 'sqlite' }, '/storage'),
  entry('a deleted worker', { type: 'worker', state: 'deleted' }, '/state'),
  entry('a cache that says nothing', { type: 'worker', cache: {} }, '/cache/enabled'),
  entry('a cache that is none', { type: 'worker', cache: true }, '/cache'),
  entry('a cache of a text', { type: 'worker', cache: { enabled: 'x' } }, '/cache/enabled'),
  bad('')('a class name that is none', { exports: { 'a-b': durable({ storage: 'sqlite' }) } }, '/exports/a-b'),
  bad('')('exports beside migrations', { exports: {}, migrations: { new_tag: 'v1' } }, '/migrations'),
  bad('')('an entry that is no object', { exports: { A: 'x' } }, '/exports/A'),
  bad('')(
    'a thousand and one entries',
    { exports: Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`E${i}`, { type: 'worker' }])) },
    '/exports',
  ),
]

const assets = (what: string, config: unknown, ...pointers: string[]) =>
  bad('/assets/config')(what, { assets: { config } }, ...pointers)
const ASSETS: BadUpload[] = [
  assets('a config that is none', 'x', ''),
  assets('unknown handling of HTML', { html_handling: 'auto' }, '/html_handling'),
  assets('unknown handling of what is not there', { not_found_handling: '500' }, '/not_found_handling'),
  assets('headers that are no text', { _headers: 1 }, '/_headers'),
  assets('redirects that are no text', { _redirects: [] }, '/_redirects'),
  assets('a base path that is no text', { base_path: 1 }, '/base_path'),
  assets('rules that are no list', { run_worker_first: 'x' }, '/run_worker_first'),
  assets('a rule that begins elsewhere', { run_worker_first: ['/a', 'b'] }, '/run_worker_first/1'),
  assets('only negative rules', { run_worker_first: ['!/a'] }, '/run_worker_first'),
  bad('/assets')('an empty token', { assets: { jwt: '' } }, '/jwt'),
]

const b = (what: string, binding: unknown, ...pointers: string[]) =>
  bad('/bindings/0')(what, { bindings: [binding] }, ...pointers)
const of = (type: string, fields: object = {}) => ({ name: 'B', type, ...fields })
const NEEDS: readonly (readonly [type: string, ...members: string[]])[] = [
  ['ai_search', 'instance_name'],
  ['ai_search_namespace', 'namespace'],
  ['analytics_engine', 'dataset'],
  ['artifacts', 'namespace'],
  ['d1', 'database_id'],
  ['data_blob', 'part'],
  ['text_blob', 'part'],
  ['wasm_module', 'part'],
  ['dispatch_namespace', 'namespace'],
  ['durable_object_namespace', 'class_name'],
  ['flagship', 'app_id'],
  ['hyperdrive', 'id'],
  ['json', 'json'],
  ['k2', 'stream'],
  ['kv_namespace', 'namespace_id'],
  ['messaging', 'namespace'],
  ['mtls_certificate', 'certificate_id'],
  ['pipelines', 'pipeline'],
  ['plain_text', 'text'],
  ['queue', 'queue_name'],
  ['r2_bucket', 'bucket_name'],
  ['ratelimit', 'namespace_id', 'simple'],
  ['secret_key', 'algorithm', 'format', 'usages'],
  ['secret_text', 'text'],
  ['secrets_store_secret', 'store_id', 'secret_name'],
  ['service', 'service'],
  ['vectorize', 'index_name'],
  ['vpc_network', 'network_id'],
  ['vpc_service', 'service_id'],
  ['workflow', 'workflow_name'],
]
const key = (change: object) =>
  of('secret_key', { algorithm: 'HMAC', format: 'raw', usages: ['sign'], key_base64: 'AAAA', ...change })
const rate = (change: object) => of('ratelimit', { namespace_id: '1', simple: { limit: 1, period: 60, ...change } })
const object = (change: object) => of('durable_object_namespace', { class_name: 'A', ...change })

const BINDINGS: BadUpload[] = [
  ['a binding without a name', { bindings: [{ type: 'ai' }] }, [10052, '/bindings/0/name']],
  ['a binding with an empty name', { bindings: [{ name: '', type: 'ai' }] }, [10052, '/bindings/0/name']],
  b('a binding that is none', 'x', ''),
  b('a name that is no text', { name: 1, type: 'ai' }, '/name'),
  b('a name with a line break', { name: 'a\nb', type: 'ai' }, '/name'),
  b('a name of 256 characters', { name: 'a'.repeat(256), type: 'ai' }, '/name'),
  b('a name that reaches into prototypes', { name: '__proto__', type: 'ai' }, '/name'),
  b('no type', { name: 'B' }, '/type'),
  b('an unknown type', of('tape_drive'), '/type'),
  b('a type that is no text', { name: 'B', type: 1 }, '/type'),
  top('one name twice', { bindings: [of('ai'), of('browser')] }, '/bindings/1/name'),
  ...NEEDS.map(([type, ...members]) =>
    b(`${type} without its members`, of(type), ...members.map((member) => `/${member}`)),
  ),
  ...NEEDS.filter(([type]) => type !== 'json' && type !== 'secret_key').map(([type, ...members]) =>
    b(
      `${type} with a number for its members`,
      of(type, Object.fromEntries(members.map((member) => [member, 1]))),
      ...members.map((member) => `/${member}`),
    ),
  ),
  ...['a', '-ab', 'ab-', 'a b', 'ä1', 'a'.repeat(64)].map((namespace) =>
    b(`the artifacts namespace ${namespace}`, of('artifacts', { namespace }), '/namespace'),
  ),
  b('a database with two ids', of('d1', { database_id: 'a', id: 'b' }), '/id'),
  b('an unknown jurisdiction', of('r2_bucket', { bucket_name: 'b', jurisdiction: 'moon' }), '/jurisdiction'),
  b('a limit of nothing', rate({ limit: 0 }), '/simple/limit'),
  b('a limit without a period', of('ratelimit', { namespace_id: '1', simple: { limit: 1 } }), '/simple/period'),
  ...[5, 61, 90, 86_460, -60].map((seconds) =>
    b(`a mitigation of ${seconds} seconds`, rate({ mitigation_timeout: seconds }), '/simple/mitigation_timeout'),
  ),
  b('a mitigation shorter than the period', rate({ mitigation_timeout: 10 }), '/simple/mitigation_timeout'),
  b('an unknown format of a key', key({ format: 'pem' }), '/format'),
  b('an unknown use of a key', key({ usages: ['sign', 'read'] }), '/usages/1'),
  b('an algorithm that is a number', key({ algorithm: 1 }), '/algorithm'),
  b('a raw key without bytes', key({ key_base64: undefined }), '/key_base64'),
  b('a raw key as a JWK', key({ key_jwk: {} }), '/key_jwk'),
  b('a JWK without one', key({ format: 'jwk', key_base64: undefined }), '/key_jwk'),
  b('a JWK as bytes', key({ format: 'jwk', key_jwk: {} }), '/key_base64'),
  ...['A', '====', 'AAAA=', 'a b='].map((text) => b(`a key of ${text}`, key({ key_base64: text }), '/key_base64')),
  b(
    'a network and a tunnel',
    of('vpc_network', { network_id: 'cf1:network', tunnel_id: '00000000-0000-4000-8000-000000000000' }),
    '/tunnel_id',
  ),
  b('a network that there is not', of('vpc_network', { network_id: 'mine' }), '/network_id'),
  b('a tunnel that is no UUID', of('vpc_network', { tunnel_id: 'x' }), '/tunnel_id'),
  b(
    'an identity in a tunnel',
    of('vpc_network', { tunnel_id: '00000000-0000-4000-8000-000000000000', identity: 'runtime-email-alpha' }),
    '/identity',
  ),
  b('an unknown identity', of('vpc_network', { network_id: 'cf1:network', identity: 'x' }), '/identity'),
  b(
    'e-mail to one and to several',
    of('send_email', { destination_address: 'a@b.c', allowed_destination_addresses: ['a@b.c'] }),
    '/allowed_destination_addresses',
  ),
  b('e-mail to a text', of('send_email', { allowed_destination_addresses: 'a@b.c' }), '/allowed_destination_addresses'),
  b('an outbound that is none', of('dispatch_namespace', { namespace: 'n', outbound: 'x' }), '/outbound'),
  b(
    'an outbound parameter without a name',
    of('dispatch_namespace', { namespace: 'n', outbound: { params: [{}] } }),
    '/outbound/params/0/name',
  ),
  b('a retry that is none', object({ retry: 4 }), '/retry'),
  b('a negative number of retries', object({ retry: { max_attempts: -1 } }), '/retry/max_attempts'),
  b('half a millisecond of retries', object({ retry: { timeout_ms: 0.5 } }), '/retry/timeout_ms'),
  b('a part in a module Worker', of('wasm_module', { part: 'index.js' }), '/type'),
  ['a class that nobody made', { bindings: [object({})] }, [10061, '/bindings/0/class_name']],
  [
    'a class of a script that is not there',
    { bindings: [object({ script_name: 'other' })] },
    [10061, '/bindings/0/class_name'],
  ],
  [
    'a namespace that there is not',
    { bindings: [of('durable_object_namespace', { namespace_id: 'x' })] },
    [10061, '/bindings/0/namespace_id'],
  ],
  [
    'an inherited version id',
    { bindings: [of('inherit', { version_id: '00000000-0000-4000-8000-000000000000' })] },
    [10057, '/bindings/0/version_id'],
  ],
  [
    'an inherited empty version id',
    { bindings: [of('inherit', { version_id: '' })] },
    [10021, '/bindings/0/version_id'],
  ],
  [
    'a text that is too large',
    { bindings: [of('plain_text', { text: 'a'.repeat(131_073) })] },
    [10054, '/bindings/0/text'],
  ],
  ['JSON that is too large', { bindings: [of('json', { json: ['a'.repeat(131_073)] })] }, [10054, '/bindings/0/json']],
  [
    'a thousand and one bindings',
    { bindings: Array.from({ length: 1001 }, (_, i) => ({ name: `B${i}`, type: 'ai' })) },
    [10055, '/bindings'],
  ],
]

const move = (what: string, migrations: object, code: number, pointer: string): BadUpload => [
  what,
  { migrations },
  [code, pointer],
]
const MIGRATIONS: BadUpload[] = [
  move('an old tag that there is not', { old_tag: 'v1', new_tag: 'v2' }, 10079, '/migrations/old_tag'),
  move('a class that is not exported', { new_tag: 'v1', new_classes: ['A'] }, 10070, '/migrations/new_classes/0'),
  move(
    'a class that is not there to be deleted',
    { new_tag: 'v1', deleted_classes: ['A'] },
    10074,
    '/migrations/deleted_classes/0',
  ),
  move(
    'a class that is not there to be renamed',
    { new_tag: 'v1', renamed_classes: [{ from: 'A', to: 'B' }] },
    10074,
    '/migrations/renamed_classes/0/from',
  ),
  move(
    'a class that is not there to be had',
    { new_tag: 'v1', transferred_classes: [{ from: 'A', from_script: 's', to: 'B' }] },
    10074,
    '/migrations/transferred_classes/0/from',
  ),
  move(
    'a class made twice',
    { new_tag: 'v1', new_classes: ['A'], new_sqlite_classes: ['A'] },
    10074,
    '/migrations/new_sqlite_classes/0',
  ),
  move('steps beside a step', { new_tag: 'v1', new_classes: [], steps: [] }, 10074, '/migrations/steps'),
  move('classes that are no list', { new_classes: 'A' }, 10021, '/migrations/new_classes'),
  move('a class that is no text', { new_classes: [1] }, 10021, '/migrations/new_classes/0'),
  move('a renaming to nothing', { renamed_classes: [{ from: 'A' }] }, 10021, '/migrations/renamed_classes/0/to'),
  move(
    'a transfer from nobody',
    { transferred_classes: [{ from: 'A', to: 'B' }] },
    10021,
    '/migrations/transferred_classes/0/from_script',
  ),
  move('steps that are no list', { steps: {} }, 10021, '/migrations/steps'),
  move('a tag that is no text', { new_tag: 1 }, 10021, '/migrations/new_tag'),
  move('an empty tag', { new_tag: '' }, 10021, '/migrations/new_tag'),
  move(
    'a thousand and one classes',
    { new_tag: 'v1', new_classes: Array.from({ length: 1001 }, (_, i) => `C${i}`) },
    10021,
    '/migrations',
  ),
  move(
    'a thousand and one steps and classes',
    { new_tag: 'v1', steps: [...Array.from({ length: 999 }, () => ({})), { new_sqlite_classes: ['A'] }, {}] },
    10021,
    '/migrations',
  ),
]

/** Uploads of one good module whose metadata is refused. */
export const BAD_METADATA: readonly BadUpload[] = [
  ...SIMPLE,
  ...OBSERVABILITY,
  ...PLACEMENT,
  ...EXPORTS,
  ...ASSETS,
  ...BINDINGS,
  ...MIGRATIONS,
]
