import type { Binding } from '../../core/model/worker.js'
import { embed, Literal, type Capnp } from './capnp.js'
import type { HyperdriveTarget } from './hyperdrive.js'
import { SECRETS_SERVICE, type RunnableVersion } from './types.js'

/** Destinations of bindings: the other services of the same configuration. */
export interface BindingContext {
  readonly script: string
  readonly version: RunnableVersion
  /** True for the validation of one script, which can reach no other script and no data. */
  readonly isolated: boolean
  /** Returns the service of a script. If the script does not exist, returns a service that throws. */
  service(script: string, at?: { readonly entrypoint?: string; readonly props?: unknown }): Capnp
  /** Name of a service of the daemon for one resource. */
  resource(type: string, id: string): string
  /** Script and class of a Durable Object namespace. Undefined if it does not run here. */
  objectClass(binding: Binding): { readonly className: string; readonly serviceName?: string } | undefined
  /** Returns the service that runs queries of a D1 database. Undefined if the account has no such database. */
  d1(id: string): Capnp | undefined
  /** Value of a secret of a secrets store. Undefined if it does not exist. */
  secret(storeId: string, name: string): string | undefined
  /** Name of the service that leads to a database, and how to log in. Undefined if there is none. */
  database(id: string): (Omit<HyperdriveTarget, 'socket'> & { readonly service: string }) | undefined
  /** Path of the module that a part was stored as, relative to the configuration file. */
  part(name: string): string | undefined
}

type Write = (binding: Binding, context: BindingContext) => Capnp

const text = (value: unknown): Capnp => ({ text: String(value) })

/** Returns a binding whose use throws an error that names the binding. */
const unusable = ({ name, type }: Binding, reason: string): Capnp => ({
  wrapped: {
    moduleName: 'edged-internal:unavailable',
    innerBindings: [{ name: 'message', text: `binding ${name} (${type}) ${reason}` }],
  },
})

const unavailable: Write = (binding) => unusable(binding, 'is not available on this server')

const part =
  (member: 'text' | 'data' | 'wasmModule'): Write =>
  (binding, context) => {
    const path = context.part(String(binding['part']))
    return path === undefined ? unavailable(binding, context) : { [member]: embed(path) }
  }

/** Names of the key formats in the configuration of the runtime, by their names in the API. */
const KEY_FORMATS: Readonly<Record<string, string>> = { raw: 'base64', pkcs8: 'pkcs8', spki: 'spki', jwk: 'jwk' }

/** Returns PEM text, which the runtime expects, for the base64 of the API. */
const pem = (label: string, base64: string): string =>
  `-----BEGIN ${label}-----\n${base64.replaceAll(/.{64}/g, '$&\n')}\n-----END ${label}-----\n`

const cryptoKey: Write = ({ algorithm, format, usages, key_base64: base64, key_jwk: jwk }) => {
  const label = format === 'pkcs8' ? 'PRIVATE KEY' : 'PUBLIC KEY'
  const key = format === 'jwk' ? JSON.stringify(jwk) : format === 'raw' ? String(base64) : pem(label, String(base64))
  return {
    cryptoKey: {
      [KEY_FORMATS[String(format)] ?? 'base64']: key,
      algorithm: typeof algorithm === 'string' ? { name: algorithm } : { json: JSON.stringify(algorithm) },
      usages: (usages as string[]).map((usage) => new Literal(usage)),
      extractable: false,
    },
  }
}

const d1: Write = (binding, context) => {
  const target = context.isolated ? context.resource('none', '') : context.d1(String(binding['database_id']))
  if (target === undefined) return unusable(binding, 'names a database that does not exist')
  return {
    wrapped: { moduleName: 'cloudflare-internal:d1-api', innerBindings: [{ name: 'fetcher', service: target }] },
  }
}

const ratelimit: Write = ({ namespace_id: id, simple }, context) => ({
  wrapped: {
    moduleName: 'edged-internal:ratelimit',
    innerBindings: [
      { name: 'fetcher', service: context.resource('ratelimit', String(id)) },
      { name: 'options', json: JSON.stringify(simple) },
    ],
  },
})

const durableObject: Write = (binding, context) => {
  if (context.isolated) return { service: context.resource('none', '') }
  const found = context.objectClass(binding)
  return found ? { durableObjectNamespace: { ...found } } : unusable(binding, 'names a class that does not run')
}

const sendEmail: Write = ({ name: _name, type: _type, ...allowed }, context) => ({
  wrapped: {
    moduleName: 'edged-internal:send-email',
    innerBindings: [{ name: 'fetcher', service: context.resource('email', JSON.stringify(allowed)) }],
  },
})

const storeSecret: Write = ({ store_id: id, secret_name: name }, context) => {
  if (context.isolated) return { service: context.resource('none', '') }
  const value = context.secret(String(id), String(name))
  const props = { json: JSON.stringify({ name, value }) }
  return { service: { name: SECRETS_SERVICE, entrypoint: 'Secret', props } }
}

const hyperdrive: Write = (binding, context) => {
  if (context.isolated) return { service: context.resource('none', '') }
  const found = context.database(String(binding['id']))
  if (!found) return unusable(binding, 'names a configuration that does not exist')
  const { service, ...login } = found
  return { hyperdrive: { designator: service, ...login } }
}

/** Writers of each type of binding. Types that are not in the table throw an error that names the binding. */
const WRITERS: Readonly<Record<string, Write>> = {
  plain_text: ({ text: value }) => text(value),
  secret_text: ({ text: value }) => text(value),
  json: ({ json }) => ({ json: JSON.stringify(json) }),
  secret_key: cryptoKey,
  version_metadata: (_, { version: { version } }) => ({
    json: JSON.stringify({
      id: version.id,
      tag: version.annotations['workers/tag'] ?? '',
      timestamp: version.created_on,
    }),
  }),
  text_blob: part('text'),
  data_blob: part('data'),
  wasm_module: part('wasmModule'),
  service: ({ service, entrypoint, props }, context) => ({
    service: context.service(String(service), { ...(typeof entrypoint === 'string' && { entrypoint }), props }),
  }),
  assets: (_, context) => ({ service: context.resource('assets', context.version.version.id) }),
  kv_namespace: ({ namespace_id: id }, context) => ({ kvNamespace: context.resource('kv', String(id)) }),
  r2_bucket: ({ bucket_name: name, jurisdiction = 'default' }, context) => ({
    r2Bucket: context.resource('r2', `${String(jurisdiction)}/${String(name)}`),
  }),
  queue: ({ queue_name: name, delivery_delay: delay = '' }, context) => ({
    queue: context.resource('queue', `${String(delay)}/${String(name)}`),
  }),
  // A validation runs without the experimental binding.
  analytics_engine: ({ dataset }, context) =>
    context.isolated
      ? { service: context.resource('none', '') }
      : { analyticsEngine: context.resource('analytics', String(dataset)) },
  durable_object_namespace: durableObject,
  d1,
  ratelimit,
  send_email: sendEmail,
  secrets_store_secret: storeSecret,
  hyperdrive,
}

/** Returns whether scripts can use a binding of this type. */
export const isAvailable = (type: string): boolean => type === 'inherit' || type in WRITERS

/** Returns one binding as the runtime reads it. */
export function runtimeBinding(binding: Binding, context: BindingContext): Capnp {
  const write = WRITERS[binding.type] ?? unavailable
  return { name: binding.name, ...(write(binding, context) as Record<string, Capnp>) }
}
