import type { Binding, StoredModule, StoredNamespace, StoredTransfer } from '../../core/model/worker.js'
import type { HyperdriveTarget } from './hyperdrive.js'
import { hasEntrypoint, namedEntrypoint } from '../code/entrypoints.js'
import { partNamed } from '../upload/modules.js'
import { runtimeBinding, type BindingContext } from './bindings.js'
import { capnpText, embed, VOID, type Capnp, type Literal } from './capnp.js'
import { D1_ENTRYPOINT, D1_WORKER, OBJECTS_WORKER, PEER_ENTRYPOINT, peersWorker, remoteClass } from './peer-sources.js'
import { CONTROL_WORKER, EXTENSION_MODULES, NO_SERVICE_WORKER, SECRETS_WORKER, TAIL_WORKER } from './sources.js'
import {
  BLOB_HEADER,
  PROTO_HEADER,
  RESOURCE_HEADER,
  SCRIPT_HEADER,
  SECRETS_SERVICE,
  type RemoteScript,
  type RunnableScript,
  type RunnableVersion,
  type RuntimePaths,
} from './types.js'

/** Placeholder for the folder of the generation. Configurations are compared before a folder exists. */
export const GENERATION_FOLDER = '@generation@'
/** Folder of module files, relative to the configuration file. */
const MODULES_FOLDER = '../modules'

/** Name of the socket of health checks, cron and queues. */
export const CONTROL_SOCKET = 'control'
/** Name of the namespace of D1 databases, and of the folder of their files. */
export const D1_NAMESPACE = 'edged-d1'
/** Name of the socket of queries of the API. */
export const D1_SOCKET = 'd1'

/** Compatibility date of uploads that name no date. */
const OLDEST_DATE = '2021-11-02'
/** The newest date of our own Workers. Every version of the runtime supports the date. */
const OWN_DATE = '2026-01-01'

/** Isolates above this size end the process. */
const HEAP_MEGABYTES = 128
/**
 * Requests leave objects that only a full collection frees, each with memory outside of the heap. Without these limits
 * the first collection comes at 320 MiB of memory, which is the limit of the watchdog. With the limits the process
 * stays below 240 MiB, for the same processor time.
 */
export const COLLECTION_FLAGS = ['--initial-old-space-size=8', '--heap-growing-percent=50']

export interface RuntimeConfigInput {
  readonly scripts: readonly RunnableScript[]
  /** Scripts of the account in other processes. */
  readonly remote?: readonly RemoteScript[]
  /** Classes that scripts wait for. Until the transfer, bindings to them lead to the current script of the class. */
  readonly transfers?: readonly StoredTransfer[]
  readonly paths: RuntimePaths
  readonly databases: DatabasesHere | DatabasesElsewhere
  /** Value of a secret of a secrets store. */
  readonly secret?: (storeId: string, name: string) => string | undefined
  /** Returns the database of a Hyperdrive configuration. */
  readonly database?: (id: string) => HyperdriveTarget | undefined
  /** The newest compatibility date that the runtime accepts. */
  readonly newestDate: string | undefined
  /** For a validation. The only script is started alone, with this module before its own modules. */
  readonly describe?: { readonly name: string; readonly source: string }
}

/** Whether this process runs the D1 databases of the account. */
export interface DatabasesHere {
  readonly here: boolean
}

/** The D1 databases of the account run in another process. */
export interface DatabasesElsewhere {
  readonly ids: ReadonlySet<string>
  /** Returns the path of the socket that leads to that process. */
  readonly peer: () => string
  /** True if this process forwards queries of the API. */
  readonly forwarded?: boolean
}

export interface RuntimeConfig {
  readonly text: string
  /** Names of sockets: `control`, and one per version. Each is a file of that name in the folder of the generation. */
  readonly sockets: readonly string[]
  /** Modules that the text refers to, by blob. */
  readonly modules: readonly StoredModule[]
}

const MODULE_MEMBERS: readonly (readonly [type: RegExp, member: string])[] = [
  [/\+module$/, 'esModule'],
  [/^(?:application|text)\/javascript$/, 'commonJsModule'],
  [/^application\/wasm$/, 'wasm'],
  [/^text\/plain$/, 'text'],
  [/^application\/octet-stream$/, 'data'],
]

const socketOptions = { cfBlobHeader: BLOB_HEADER, forwardedProtoHeader: PROTO_HEADER }

/** Returns the configuration of one process, which runs scripts of one account. */
export function runtimeConfig(input: RuntimeConfigInput): RuntimeConfig {
  return new ConfigWriter(input).write()
}

/** Name of the service of a version. */
const serviceName = (script: { readonly name: string; readonly primary?: string }, version: string): string =>
  version === script.primary ? `script:${script.name}` : `script:${script.name}:${version}`

class ConfigWriter {
  readonly #input: RuntimeConfigInput
  readonly #scripts: ReadonlyMap<string, RunnableScript>
  readonly #remote: ReadonlyMap<string, RemoteScript>
  readonly #services: Capnp[] = []
  readonly #sockets: { name: string; service: Capnp }[] = []
  readonly #modules = new Map<string, StoredModule>()
  /** Services for resources of the daemon, by name. */
  readonly #resources = new Map<string, Capnp>()
  readonly #isolated: boolean
  /** Classes in other processes, with the socket by id of the namespace. */
  readonly #remoteObjects = new Map<string, string>()
  #usesPeers = false
  #missesService = false
  #readsSecrets = false

  constructor(input: RuntimeConfigInput) {
    this.#input = input
    this.#isolated = input.describe !== undefined
    this.#scripts = new Map(input.scripts.map((script) => [script.name, script]))
    this.#remote = new Map((input.remote ?? []).map((script) => [script.name, script]))
  }

  write(): RuntimeConfig {
    const { scripts, paths } = this.#input
    for (const script of scripts)
      for (const version of script.versions) {
        const name = serviceName(script, version.version.id)
        this.#services.push({ name, worker: this.#worker(script, version) })
        this.#sockets.push({ name: version.version.id, service: name })
      }
    this.#forwardedSockets()
    this.#ownServices()
    if (paths.objects !== undefined && this.#keepsData())
      this.#services.push({ name: 'objects', disk: { path: paths.objects, writable: true } })
    this.#services.push(...this.#resources.values())
    const config = {
      services: this.#services,
      sockets: this.#sockets.map(({ name, service }) => ({
        name,
        address: `unix:${GENERATION_FOLDER}/${name}`,
        http: socketOptions,
        service,
      })),
      extensions: [
        { modules: EXTENSION_MODULES.map(({ name, source }) => ({ name, esModule: source, internal: true })) },
      ],
      v8Flags: [`--max-old-space-size=${HEAP_MEGABYTES}`, ...COLLECTION_FLAGS],
    }
    const text = `using Workerd = import "/workerd/workerd.capnp";\nconst config :Workerd.Config = ${capnpText(config)};\n`
    return { text, sockets: this.#sockets.map(({ name }) => name), modules: [...this.#modules.values()] }
  }

  /** Sockets for requests that another machine handles. */
  #forwardedSockets(): void {
    const { databases } = this.#input
    for (const script of this.#remote.values())
      for (const version of script.versions ?? []) {
        const service = serviceName(script, version)
        this.#sockets.push({ name: version, service: this.#peer(script.peer(), { service }) })
      }
    if ('ids' in databases && databases.forwarded === true) {
      const service = this.#peer(databases.peer(), { service: 'd1', entrypoint: D1_ENTRYPOINT })
      this.#sockets.push({ name: D1_SOCKET, service })
    }
  }

  #keepsData(): boolean {
    return this.#hasDatabases() || this.#input.scripts.some(({ namespaces }) => namespaces.length > 0)
  }

  #hasDatabases(): boolean {
    const { databases } = this.#input
    return 'here' in databases && databases.here
  }

  #storage(): Capnp {
    return this.#input.paths.objects === undefined ? { inMemory: VOID } : { localDisk: 'objects' }
  }

  #worker(script: RunnableScript, runnable: RunnableVersion): Capnp {
    const { version, bindings } = runnable
    const { newestDate, describe } = this.#input
    const context = this.#context(script, runnable)
    const namespaces = this.#namespacesOf(script, runnable)
    const tails = [
      ...(script.traced
        ? [{ name: 'tail', props: { json: JSON.stringify({ script: script.name, version: version.id }) } }]
        : []),
      ...script.tailConsumers.flatMap((name) =>
        this.#scripts.has(name) || this.#remote.has(name) ? [context.service(name)] : [],
      ),
    ]
    const date = version.compatibility_date ?? OLDEST_DATE
    return {
      ...this.#code(runnable),
      compatibilityDate: newestDate !== undefined && date > newestDate ? newestDate : date,
      compatibilityFlags: [...version.compatibility_flags],
      bindings: bindings.map((binding: Binding) => runtimeBinding(binding, context)),
      globalOutbound: this.#outbound(script.name),
      ...(!describe && { cacheApiOutbound: this.#resource('cache', '', script.name) }),
      ...(namespaces.length > 0 && {
        durableObjectNamespaces: namespaces.map(({ class: className, id, use_sqlite: enableSql }) => ({
          className,
          uniqueKey: id,
          enableSql,
        })),
        durableObjectStorage: this.#storage(),
      }),
      ...(tails.length > 0 && !describe && { tails }),
    }
  }

  /** Durable Object classes that this version runs. One version owns all classes of a script. */
  #namespacesOf(script: RunnableScript, { version }: RunnableVersion): StoredNamespace[] {
    if (version.id !== script.primary) return []
    const exported = new Set(version.named.map(({ name }) => name))
    return script.namespaces.filter((namespace) => exported.has(namespace.class))
  }

  #code({ version }: RunnableVersion): Record<string, Capnp> {
    const { describe } = this.#input
    const file = (module: StoredModule): Literal => {
      this.#modules.set(module.blob, module)
      return embed(`${MODULES_FOLDER}/${module.blob}`)
    }
    const main = version.modules.find(({ name }) => name === version.main)
    if (version.format === 'service-worker') return { serviceWorkerScript: main ? file(main) : '' }
    const ordered = [...(main ? [main] : []), ...version.modules.filter((module) => module !== main)]
    const modules = ordered.flatMap((module) => {
      const member = MODULE_MEMBERS.find(([type]) => type.test(module.type))?.[1]
      return member === undefined ? [] : [{ name: module.name, [member]: file(module) }]
    })
    return { modules: [...(describe ? [{ name: describe.name, esModule: describe.source }] : []), ...modules] }
  }

  #context(script: RunnableScript, version: RunnableVersion): BindingContext {
    return {
      script: script.name,
      version,
      isolated: this.#isolated,
      service: (name, { entrypoint: named, props } = {}) => {
        if (this.#isolated) return this.#resource('none', '', script.name)
        const remote = this.#remote.get(name)
        const exported = (remote ?? this.#scripts.get(name))?.exported
        if (!exported)
          return this.#failing(`no such service: the script ${name} of this binding does not exist or does not run`)
        const entrypoint = namedEntrypoint(named)
        // The runtime does not start with a binding to an entrypoint that does not exist.
        if (entrypoint !== undefined && !hasEntrypoint(exported, entrypoint))
          return this.#failing(`no such entrypoint: the script ${name} of this binding does not export ${entrypoint}`)
        if (remote) return this.#peer(remote.peer(), { service: `script:${name}`, entrypoint, props })
        return {
          name: `script:${name}`,
          entrypoint,
          ...(props !== undefined && { props: { json: JSON.stringify(props) } }),
        }
      },
      resource: (type, id) => this.#resource(type, id, script.name),
      objectClass: ({ class_name: name, script_name: named = script.name, namespace_id: id }) => {
        const owner = this.#ownerOf(named, name)
        const target = this.#scripts.get(String(owner))
        const found = [...(target ? [target] : []), ...this.#scripts.values()].flatMap((one) =>
          one.versions
            .filter((runnable) => runnable.version.id === one.primary)
            .flatMap((runnable) => this.#namespacesOf(one, runnable).map((namespace) => ({ one, namespace }))),
        )
        const fit = found.find(({ one, namespace }) =>
          name === undefined ? namespace.id === id : namespace.class === name && one.name === owner,
        )
        if (!fit) return this.#remoteClass(String(owner), { name, id })
        const own = fit.one.name === script.name && version.version.id === script.primary
        return {
          className: fit.namespace.class,
          ...(!own && { serviceName: serviceName(fit.one, fit.one.primary) }),
        }
      },
      d1: (id) => {
        const { databases } = this.#input
        if ('here' in databases || !databases.ids.has(id)) return undefined
        return this.#peer(databases.peer(), { service: 'd1', props: { database: id } })
      },
      secret: (storeId, name) => {
        this.#readsSecrets = true
        return this.#input.secret?.(storeId, name)
      },
      database: (id) => {
        const found = this.#input.database?.(id)
        if (!found) return undefined
        const { socket, ...login } = found
        const service = `hyperdrive:${id}`
        this.#resources.set(service, { name: service, external: { address: `unix:${socket}`, tcp: {} } })
        return { service, ...login }
      },
      part: (name) => {
        const found = partNamed(
          name,
          version.version.modules.map((module) => ({ ...module, part: module.part ?? module.name })),
        )
        if (!found) return undefined
        this.#modules.set(found.blob, found)
        return `${MODULES_FOLDER}/${found.blob}`
      },
    }
  }

  /** Returns the script that has the namespace of a class now, if the named script waits for the class. */
  #ownerOf(script: unknown, className: unknown): unknown {
    const waits = this.#input.transfers?.find((one) => one.target === script && one.class === className)
    return waits?.source ?? script
  }

  /** Returns a service whose calls throw an error with this text. */
  #failing(reason: string): Capnp {
    this.#missesService = true
    return { name: 'no-service', props: { json: JSON.stringify({ reason }) } }
  }

  /** Returns a service of another process of the account. */
  #peer(peer: string, to: { service: string; entrypoint?: string | undefined; props?: unknown }): Capnp {
    this.#usesPeers = true
    return { name: 'peers', entrypoint: PEER_ENTRYPOINT, props: { json: JSON.stringify({ peer, ...to }) } }
  }

  /** Returns a class that runs in another process. Undefined if no process runs it. */
  #remoteClass(
    owner: string,
    wanted: { readonly name: unknown; readonly id: unknown },
  ): { readonly className: string; readonly serviceName: string } | undefined {
    for (const { name, peer, namespaces } of this.#remote.values())
      for (const { id, class: className } of namespaces)
        if (wanted.name === undefined ? id === wanted.id : className === wanted.name && name === owner) {
          this.#usesPeers = true
          this.#remoteObjects.set(id, peer())
          return { className: remoteClass(id), serviceName: 'peers' }
        }
    return undefined
  }

  /**
   * Returns the service for one resource of the daemon. A script can name only resources that its configuration names.
   */
  #resource(type: string, id: string, script: string): string {
    const name = `resource:${script}:${type}:${id}`
    if (!this.#resources.has(name))
      this.#resources.set(name, {
        name,
        external: {
          address: `unix:${this.#input.paths.resources}`,
          http: {
            injectRequestHeaders: [
              { name: RESOURCE_HEADER, value: `${type} ${encodeURIComponent(id)}` },
              { name: SCRIPT_HEADER, value: script },
            ],
          },
        },
      })
    return name
  }

  #outbound(script: string): string {
    const name = `outbound:${script}`
    if (!this.#resources.has(name))
      this.#resources.set(name, {
        name,
        external: {
          address: `unix:${this.#input.paths.outbound}`,
          http: { ...socketOptions, injectRequestHeaders: [{ name: SCRIPT_HEADER, value: script }] },
        },
      })
    return name
  }

  #own(name: string, source: string, more: Record<string, Capnp> = {}): void {
    this.#services.push({
      name,
      worker: {
        modules: [{ name: `${name}.js`, esModule: source }],
        compatibilityDate: OWN_DATE,
        globalOutbound: this.#outbound(''),
        ...more,
      },
    })
  }

  #ownServices(): void {
    const { scripts } = this.#input
    // A process without it would reach the network directly.
    this.#services.push({
      name: 'internet',
      external: { address: `unix:${this.#input.paths.outbound}`, http: socketOptions },
    })
    if (this.#isolated) return
    this.#own('control', CONTROL_WORKER, {
      compatibilityFlags: ['service_binding_extra_handlers'],
      bindings: scripts.map((script) => ({ name: script.name, service: serviceName(script, script.primary) })),
    })
    this.#sockets.push({ name: CONTROL_SOCKET, service: 'control' })
    if (scripts.some(({ traced }) => traced))
      this.#own('tail', TAIL_WORKER, { bindings: [{ name: 'DAEMON', service: this.#resource('tail', '', '') }] })
    if (this.#missesService) this.#own('no-service', NO_SERVICE_WORKER)
    if (this.#readsSecrets) this.#own(SECRETS_SERVICE, SECRETS_WORKER)
    if (this.#usesPeers)
      this.#own('peers', peersWorker(this.#remoteObjects), {
        bindings: [{ name: 'PEERS', workerdDebugPort: VOID }],
        ...(this.#remoteObjects.size > 0 && {
          durableObjectNamespaces: [...this.#remoteObjects.keys()].map((id) => ({
            className: remoteClass(id),
            uniqueKey: id,
          })),
          durableObjectStorage: { inMemory: VOID },
        }),
      })
    const classes = scripts.flatMap((script) =>
      script.versions.flatMap((version) =>
        this.#namespacesOf(script, version).map(({ class: className, id }) => ({
          name: id,
          durableObjectNamespace: { className, serviceName: serviceName(script, script.primary) },
        })),
      ),
    )
    if (classes.length > 0) this.#own('object-calls', OBJECTS_WORKER, { bindings: classes })
    if (this.#hasDatabases()) {
      this.#services.push({
        name: 'd1',
        worker: {
          modules: [
            { name: 'main.js', esModule: D1_WORKER },
            { name: 'd1.js', bundled: '/workerd/d1.js' },
          ],
          compatibilityDate: OWN_DATE,
          bindings: [{ name: 'DATABASE', durableObjectNamespace: { className: 'D1Database' } }],
          durableObjectNamespaces: [{ className: 'D1Database', uniqueKey: D1_NAMESPACE, enableSql: true }],
          durableObjectStorage: this.#storage(),
        },
      })
      this.#sockets.push({ name: D1_SOCKET, service: { name: 'd1', entrypoint: D1_ENTRYPOINT } })
    }
  }
}
