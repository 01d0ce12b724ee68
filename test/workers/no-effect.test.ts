import { readFileSync } from 'node:fs'
import t from 'tap'
import type { TSchema } from 'typebox'
import { BINDINGS } from '../../src/workers/bindings/index.js'
import { INERT, inertMembers, shapeOf } from '../../src/workers/runtime/inert.js'
import { Metadata } from '../../src/workers/metadata/schema.js'
import { isAvailable } from '../../src/workers/runtime/bindings.js'

/** Members that act, or that describe a version for its readers and ask for nothing. Each has a test of its effect. */
const ACTING: readonly string[] = [
  '/annotations/*',
  '/assets/config/_headers',
  '/assets/config/_redirects',
  '/assets/config/base_path',
  '/assets/config/html_handling',
  '/assets/config/not_found_handling',
  '/assets/config/run_worker_first/*',
  '/assets/config/serve_directly',
  '/assets/jwt',
  '/bindings/analytics_engine/dataset',
  '/bindings/d1/database_id',
  '/bindings/d1/id',
  '/bindings/data_blob/part',
  '/bindings/durable_object_namespace/class_name',
  '/bindings/durable_object_namespace/namespace_id',
  '/bindings/durable_object_namespace/script_name',
  '/bindings/hyperdrive/id',
  '/bindings/inherit/old_name',
  '/bindings/inherit/version_id',
  '/bindings/json/json',
  '/bindings/kv_namespace/namespace_id',
  '/bindings/plain_text/text',
  '/bindings/queue/delivery_delay',
  '/bindings/queue/queue_name',
  '/bindings/r2_bucket/bucket_name',
  '/bindings/r2_bucket/jurisdiction',
  '/bindings/ratelimit/namespace_id',
  '/bindings/ratelimit/simple/limit',
  '/bindings/ratelimit/simple/period',
  '/bindings/secret_key/algorithm',
  '/bindings/secret_key/format',
  '/bindings/secret_key/key_base64',
  '/bindings/secret_key/key_jwk',
  '/bindings/secret_key/usages/*',
  '/bindings/secret_text/text',
  '/bindings/secrets_store_secret/secret_name',
  '/bindings/secrets_store_secret/store_id',
  '/bindings/send_email/allowed_destination_addresses/*',
  '/bindings/send_email/allowed_sender_addresses/*',
  '/bindings/send_email/destination_address',
  '/bindings/service/entrypoint',
  '/bindings/service/props',
  '/bindings/service/service',
  '/bindings/text_blob/part',
  '/bindings/wasm_module/part',
  '/body_part',
  '/compatibility_date',
  '/compatibility_flags/*',
  '/exports/*/renamed_to',
  '/exports/*/state',
  '/exports/*/storage',
  '/exports/*/transfer_from',
  '/exports/*/transferred_to',
  '/exports/*/type',
  '/keep_assets',
  '/keep_bindings/*',
  '/logpush',
  '/main_module',
  '/migrations/deleted_classes/*',
  '/migrations/new_classes/*',
  '/migrations/new_sqlite_classes/*',
  '/migrations/new_tag',
  '/migrations/old_tag',
  '/migrations/renamed_classes/*/from',
  '/migrations/renamed_classes/*/to',
  '/migrations/steps/*/deleted_classes/*',
  '/migrations/steps/*/new_classes/*',
  '/migrations/steps/*/new_sqlite_classes/*',
  '/migrations/steps/*/renamed_classes/*/from',
  '/migrations/steps/*/renamed_classes/*/to',
  '/migrations/steps/*/transferred_classes/*/from',
  '/migrations/steps/*/transferred_classes/*/from_script',
  '/migrations/steps/*/transferred_classes/*/to',
  '/migrations/transferred_classes/*/from',
  '/migrations/transferred_classes/*/from_script',
  '/migrations/transferred_classes/*/to',
  '/observability/enabled',
  '/observability/head_sampling_rate',
  '/observability/logs/enabled',
  '/observability/logs/head_sampling_rate',
  '/observability/logs/invocation_logs',
  '/observability/logs/persist',
  '/observability/redact_query_string',
  '/package_dependencies/*/installedVersion',
  '/package_dependencies/*/name',
  '/package_dependencies/*/packageJsonVersion',
  '/tags/*',
  '/tail_consumers/*/service',
]

/** Returns the path of each member of a schema, in the form of the keys of `INERT`. */
function paths(schema: TSchema | undefined, at = ''): string[] {
  if (INERT[at]) return [at]
  if (at === '/bindings')
    return [...BINDINGS]
      .filter(([type]) => isAvailable(type))
      .flatMap(([type, { schema: binding }]) => paths(binding, `${at}/${type}`))
      .filter((path) => !/^\/bindings\/\w+\/(name|type)$/.test(path))
  const { properties, items } = shapeOf(schema)
  if (properties) return Object.entries(properties).flatMap(([name, one]) => paths(one, `${at}/${name}`))
  return items ? paths(items, `${at}/*`) : [at]
}

t.test('every member of a Worker acts or has a message', async (t) => {
  const inert = Object.keys(INERT)
  t.same(paths(Metadata).sort(), [...ACTING, ...inert].sort())
})

const PAGE = readFileSync('docs/no-effect.md', 'utf8')

t.test('the documentation lists the members of a Worker without effect', async (t) => {
  const [, section = ''] = /^## Worker scripts\n([^]*?)(?=^## |$(?![^]))/m.exec(PAGE) ?? []
  const named = [...section.matchAll(/^\| `([^`]+)`/gm)].map(([, path = '']) => path)
  const shown = (path: string) => path.slice(1).replaceAll('/*', '[]').replaceAll('/', '.')
  t.same(named.sort(), Object.keys(INERT).map(shown).sort())
})

const ENABLED = { enabled: true }
/** Metadata, and the pointers that have messages. */
const ROWS: readonly (readonly [metadata: object, ...pointers: string[]])[] = [
  [{ observability: { enabled: true, traces: ENABLED } }, '/observability/traces'],
  [{ observability: { enabled: true, traces: { destinations: ['x'] } } }, '/observability/traces'],
  [{ observability: { enabled: true, traces: { propagation_policy: 'accept' } } }, '/observability/traces'],
  [{ observability: { enabled: true, traces: { enabled: false, head_sampling_rate: 1, destinations: [] } } }],
  [{ observability: { enabled: true, traces: null, issues: null, logs: null } }],
  [{ observability: { enabled: true, issues: ENABLED } }, '/observability/issues'],
  [{ observability: { enabled: true, issues: { enabled: false } } }],
  [
    {
      observability: { enabled: true, logs: { ...ENABLED, invocation_logs: true, destinations: ['x'], persist: true } },
    },
    '/observability/logs/destinations',
  ],
  [{ observability: { enabled: true, later: 1 } }, '/observability/later'],
  [
    { exports: { default: { type: 'worker', cache: ENABLED }, 'a/b': { type: 'worker', cache: { enabled: false } } } },
    '/exports/default/cache',
  ],
  [{ exports: { 'a/b': { type: 'worker', cache: ENABLED } } }, '/exports/a~1b/cache'],
  [
    { bindings: [binding('durable_object_namespace', { class_name: 'A', retry: { max_attempts: 2 } })] },
    '/bindings/0/retry',
  ],
  [{ bindings: [binding('durable_object_namespace', { class_name: 'A', retry: { timeout_ms: null } })] }],
  [{ bindings: [binding('durable_object_namespace', { class_name: 'A', retry: null })] }],
  [{ bindings: [binding('service', { service: 'a', environment: 'production' })] }],
  [{ bindings: [binding('service', { service: 'a', environment: 'staging' })] }, '/bindings/0/environment'],
  [{ bindings: [binding('plain_text', { text: '' }), binding('ai', { x: 1 })] }, '/bindings/1'],
  [{ bindings: [binding('plain_text', { text: '', hint: 'x' })] }, '/bindings/0/hint'],
  [{ bindings: [binding('json', { json: { retry: { traces: ENABLED } } })] }],
  [{ bindings: [binding('service', { service: 'a', props: { environment: 'staging' } })] }],
  [{ tail_consumers: [{ service: 'a', namespace: 'n' }, { service: 'b' }] }, '/tail_consumers/0/namespace'],
  [{ cache_options: { enabled: false }, limits: {}, usage_model: 'standard', containers: [], placement: {} }],
  [
    { cache_options: ENABLED, limits: { cpu_ms: 5 }, usage_model: 'bundled' },
    '/cache_options',
    '/limits',
    '/usage_model',
  ],
  [{ keep_vars: false, capnp_schema: null }],
  [{ streaming_tail_consumers: [{ service: 'a' }] }, '/streaming_tail_consumers'],
]

function binding(type: string, more: object): object {
  return { name: 'A', type, ...more }
}

t.test('what asks for something without effect has a message at its pointer', async (t) => {
  for (const [metadata, ...pointers] of ROWS) t.same(inertMembers(metadata), pointers, JSON.stringify(metadata))
})

t.test('the number of messages is limited', async (t) => {
  const many = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`x${at}`, 1]))
  t.equal(inertMembers(many).length, 1000)
})
