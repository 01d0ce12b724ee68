import { Type } from 'typebox'
import { QUEUE_LIMITS } from '../storage/queues.js'
import { bindingKind, Ref, type BindingKind, type BindingSpec } from './binding-kind.js'

const Artifacts = Type.String({
  minLength: 2,
  maxLength: 63,
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*[A-Za-z0-9._]$',
  'x-message':
    'must be 2 to 63 letters, digits, dots, underscores and hyphens; it must start with a letter or digit and must not end with a hyphen',
})
const Outbound = Type.Object(
  {
    params: Type.Optional(Type.Array(Type.Object({ name: Ref('Name of the parameter.') }))),
    worker: Type.Optional(
      Type.Object({
        service: Type.Optional(Ref('Name of the script.')),
        environment: Type.Optional(Ref('Environment of the script.')),
        entrypoint: Type.Optional(Ref('Entrypoint to call.')),
      }),
    ),
  },
  { description: 'The Worker that receives the requests of dispatched scripts.' },
)

const SPECS: readonly BindingSpec[] = [
  {
    type: 'agent_memory',
    description: 'Memory of agents.',
    fields: { namespace: Ref('Name of the namespace.') },
    example: { namespace: 'helpers' },
  },
  { type: 'ai', description: 'AI models.' },
  {
    type: 'ai_search',
    description: 'One search instance.',
    fields: {
      instance_name: Ref('Name of the instance.'),
      namespace: Type.Optional(Ref('Namespace of the instance. Default: `default`.')),
    },
    example: { instance_name: 'docs' },
  },
  {
    type: 'ai_search_namespace',
    description: 'All search instances of a namespace.',
    fields: { namespace: Ref('The namespace.') },
    example: { namespace: 'default' },
  },
  {
    type: 'analytics_engine',
    description: 'A dataset that the script writes to.',
    fields: { dataset: Ref('Name of the dataset.') },
    example: { dataset: 'visits' },
  },
  {
    type: 'artifacts',
    description: 'A namespace of artifacts. It does not have to exist.',
    fields: { namespace: Artifacts },
    example: { namespace: 'builds' },
  },
  { type: 'assets', description: 'The static assets of the script.' },
  { type: 'browser', description: 'A browser that the script controls.' },
  {
    type: 'data_blob',
    description: 'An uploaded part as bytes, for service-worker scripts.',
    fields: { part: Ref('Name of the part.') },
    example: { part: 'blob.bin' },
    part: 'part',
  },
  {
    type: 'dispatch_namespace',
    description: 'A namespace of scripts to dispatch to.',
    fields: { namespace: Ref('Name of the namespace.'), outbound: Type.Optional(Outbound) },
    example: { namespace: 'tenants' },
  },
  {
    type: 'flagship',
    description: 'An app with feature flags.',
    fields: { app_id: Ref('Id of the app.') },
    example: { app_id: 'app-1' },
  },
  {
    type: 'hyperdrive',
    description: 'A pooled database connection.',
    fields: { id: Ref('Id of the connection.') },
    example: { id: 'f7f1d9d8a1b24b6c9f0e0c1d2e3f4a5b' },
  },
  { type: 'images', description: 'Transformations of images.' },
  {
    type: 'inherit',
    description: 'A binding of an earlier version.',
    fields: {
      old_name: Type.Optional(Ref('Name of the binding in that version. Default: the same name.')),
      version_id: Type.Optional(Ref('`latest`, the default, or the id of a version.')),
    },
  },
  {
    type: 'json',
    description: 'Any JSON value.',
    fields: { json: Type.Unknown({ description: 'The value.' }) },
    example: { json: { limit: 3 } },
  },
  {
    type: 'k2',
    description: 'A stream.',
    fields: { stream: Ref('Name of the stream.') },
    example: { stream: 'events' },
  },
  {
    type: 'kv_namespace',
    description: 'A KV namespace.',
    fields: { namespace_id: Ref('Id of the namespace.') },
    example: { namespace_id: '0f2ac74b498b48028cb68387c421e279' },
  },
  {
    type: 'logfwdr',
    description: 'A destination for log lines.',
    fields: { destination: Ref('Name of the destination.') },
    example: { destination: 'audit' },
  },
  { type: 'media', description: 'Transformations of media.' },
  {
    type: 'messaging',
    description: 'A messaging namespace.',
    fields: { namespace: Ref('The namespace.') },
    example: { namespace: 'orders' },
  },
  {
    type: 'mtls_certificate',
    description: 'A client certificate for requests to origins.',
    fields: { certificate_id: Ref('Id of the certificate.') },
    example: { certificate_id: 'b2134436-2555-4acf-be5b-26c48136575e' },
  },
  {
    type: 'plain_text',
    description: 'A string.',
    fields: { text: Type.String({ description: 'The string.' }) },
    example: { text: 'Hello' },
  },
  {
    type: 'queue',
    description: 'A queue to send messages to.',
    fields: {
      queue_name: Ref('Name of the queue.'),
      delivery_delay: Type.Optional(
        Type.Number({ minimum: 0, maximum: QUEUE_LIMITS.delay, description: 'Seconds, for messages without a delay.' }),
      ),
    },
    example: { queue_name: 'jobs' },
  },
  {
    type: 'r2_bucket',
    description: 'An R2 bucket.',
    fields: {
      bucket_name: Ref('Name of the bucket.'),
      jurisdiction: Type.Optional(Type.Enum(['eu', 'fedramp', 'fedramp-high', 'us'])),
    },
    example: { bucket_name: 'photos', jurisdiction: 'eu' },
  },
  {
    type: 'secret_text',
    description: 'A secret string.',
    fields: { text: Type.String({ description: 'The secret. Never returned.' }) },
    example: { text: 'hush' },
    secret: ['text'],
  },
  {
    type: 'secrets_store_secret',
    description: 'A secret of a secrets store.',
    fields: { store_id: Ref('Id of the store.'), secret_name: Ref('Name of the secret in the store.') },
    example: { store_id: 'f7f1d9d8', secret_name: 'token' },
  },
  {
    type: 'service',
    description: 'Another script.',
    fields: {
      service: Ref('Name of the script.'),
      environment: Type.Optional(Ref('Environment of the script.')),
      entrypoint: Type.Optional(Ref('Entrypoint to call. Default: the default export.')),
      props: Type.Optional(
        Type.Record(Type.String(), Type.Unknown(), { description: '`ctx.props` of the entrypoint.' }),
      ),
    },
    example: { service: 'auth', entrypoint: 'Admin' },
  },
  { type: 'stream', description: 'Videos.' },
  {
    type: 'text_blob',
    description: 'An uploaded part as text, for service-worker scripts.',
    fields: { part: Ref('Name of the part.') },
    example: { part: 'blob.bin' },
    part: 'part',
  },
  {
    type: 'vectorize',
    description: 'A vector index.',
    fields: { index_name: Ref('Name of the index.') },
    example: { index_name: 'embeddings' },
  },
  { type: 'version_metadata', description: 'Id, tag and creation time of the running version.' },
  {
    type: 'vpc_service',
    description: 'A service in a private network.',
    fields: { service_id: Ref('Id of the service.') },
    example: { service_id: '0195b1e2-7a4c-7c3e-9f43-2d6b5a1c0e9f' },
  },
  {
    type: 'wasm_module',
    description: 'An uploaded part as WebAssembly, for service-worker scripts.',
    fields: { part: Ref('Name of the part.') },
    example: { part: 'blob.bin' },
    part: 'part',
  },
  { type: 'websearch', description: 'Web searches.' },
  { type: 'worker_loader', description: 'Loads other Workers at run time.' },
  {
    type: 'workflow',
    description: 'A workflow.',
    fields: {
      workflow_name: Ref('Name of the workflow.'),
      class_name: Type.Optional(Ref('Class of the workflow, if this script exports it.')),
      script_name: Type.Optional(Ref('Script that exports the class. Default: this one.')),
    },
    example: { workflow_name: 'orders', class_name: 'Orders' },
  },
]

/** Binding types that their schema describes completely. */
export const SIMPLE_BINDINGS: readonly BindingKind[] = SPECS.map(bindingKind)
