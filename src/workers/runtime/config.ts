import type { Binding, StoredModule, StoredNamespace } from '../../core/model/worker.js'
import type { HyperdriveTarget } from './hyperdrive.js'
import { partNamed } from '../upload/modules.js'
import { runtimeBinding, type BindingContext } from './bindings.js'
import { capnpText, embed, VOID, type Capnp, type Literal } from './capnp.js'
import { CONTROL_WORKER, EXTENSION_MODULES, NO_SERVICE_WORKER, SECRETS_WORKER, TAIL_WORKER } from './sources.js'
import {
  BLOB_HEADER,
  PROTO_HEADER,
  RESOURCE_HEADER,
  SCRIPT_HEADER,
  SECRETS_SERVICE,
  type RunnableScript,
  type RunnableVersion,
  type RuntimePaths,
} from './types.js'

/** Placeholder for the folder of the generation: the text is compared before there is a folder. */
export const GENERATION_FOLDER = '@generation@'
/** Folder of module files, relative to the configuration file. */
const MODULES_FOLDER = '../modules'

/** Name of the socket of health checks, cron and queues. */
export const CONTROL_SOCKET = 'control'

/** What the compatibility date is if an upload names none. */
const OLDEST_DATE = '2021-11-02'
/** The newest date of our own Workers; each version of the runtime knows it. */
const OWN_DATE = '2026-01-01'

/** Isolates above this size end the process. */
const HEAP_MEGABYTES = 128

export interface RuntimeConfigInput {
  readonly scripts: readonly RunnableScript[]
  readonly paths: RuntimePaths
  /** Ids of the D1 databases of the account. */
  readonly databases: readonly string[]
  /** Value of a secret of a secrets store. */
  readonly secret?: (storeId: string, name: string) => string | undefined
  /** Where a Hyperdrive configuration leads. */
  readonly database?: (id: string) => HyperdriveTarget | undefined
  /** The newest compatibility date that the runtime accepts. */
  readonly newestDate: string | undefined
  /** Validation: the only script is started alone, with this module in front of its own. */
  readonly describe?: { readonly name: string; readonly source: string }
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

/** Returns the configuration of one process: the scripts of one account. */
export function runtimeConfig(input: RuntimeConfigInput): RuntimeConfig {
  return new ConfigWriter(input).write()
}

/** Name of the service of a version. */
const serviceName = (script: RunnableScript, version: string): string =>
  version === script.primary ? `script:${script.name}` : `script:${script.name}:${version}`

class ConfigWriter {
  readonly #input: RuntimeConfigInput
  readonly #scripts: ReadonlyMap<string, RunnableScript>
  readonly #services: Capnp[] = []
  readonly #sockets: { name: string; service: Capnp }[] = []
  readonly #modules = new Map<string, StoredModule>()
  /** Services for resources of the daemon, by name. */
  readonly #resources = new Map<string, Capnp>()
  readonly #isolated: boolean
  #missesService = false
  #readsSecrets = false

  constructor(input: RuntimeConfigInput) {
    this.#input = input
    this.#isolated = input.describe !== undefined
    this.#scripts = new Map(input.scripts.map((script) => [script.name, script]))
  }

  write(): RuntimeConfig {
    const { scripts, paths } = this.#input
    for (const script of scripts)
      for (const version of script.versions) {
        const name = serviceName(script, version.version.id)
        this.#services.push({ name, worker: this.#worker(script, version) })
        this.#sockets.push({ name: version.version.id, service: name })
      }
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
      v8Flags: [`--max-old-space-size=${HEAP_MEGABYTES}`],
    }
    const text = `using Workerd = import "/workerd/workerd.capnp";\nconst config :Workerd.Config = ${capnpText(config)};\n`
    return { text, sockets: this.#sockets.map(({ name }) => name), modules: [...this.#modules.values()] }
  }

  #keepsData(): boolean {
    return this.#input.databases.length > 0 || this.#input.scripts.some(({ namespaces }) => namespaces.length > 0)
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
        this.#scripts.has(name) ? [{ name: context.service(name).name }] : [],
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

  /** Durable Object classes that this version runs: one version owns all of a script. */
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
      service: (name) => {
        const target = this.#scripts.get(name)
        if (this.#isolated) return { name: this.#resource('none', '', script.name), hasEntrypoints: false }
        if (target) return { name: serviceName(target, target.primary), hasEntrypoints: true }
        this.#missesService = true
        return { name: 'no-service', hasEntrypoints: false }
      },
      resource: (type, id) => this.#resource(type, id, script.name),
      objectClass: ({ class_name: name, script_name: owner = script.name, namespace_id: id }) => {
        const target = this.#scripts.get(String(owner))
        const found = [...(target ? [target] : []), ...this.#scripts.values()].flatMap((one) =>
          one.versions
            .filter((runnable) => runnable.version.id === one.primary)
            .flatMap((runnable) => this.#namespacesOf(one, runnable).map((namespace) => ({ one, namespace }))),
        )
        const fit = found.find(({ one, namespace }) =>
          name === undefined ? namespace.id === id : namespace.class === name && one.name === owner,
        )
        if (!fit) return undefined
        const own = fit.one.name === script.name && version.version.id === script.primary
        return {
          className: fit.namespace.class,
          ...(!own && { serviceName: serviceName(fit.one, fit.one.primary) }),
        }
      },
      hasDatabase: (id) => this.#input.databases.includes(id),
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

  /** The service for one resource of the daemon. A script can name only what its configuration names. */
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
    if (this.#input.databases.length > 0) {
      this.#services.push({
        name: 'd1',
        worker: {
          modules: [{ name: 'd1.js', bundled: '/workerd/d1.js' }],
          compatibilityDate: OWN_DATE,
          bindings: [{ name: 'DATABASE', durableObjectNamespace: { className: 'D1Database' } }],
          durableObjectNamespaces: [{ className: 'D1Database', uniqueKey: 'edged-d1', enableSql: true }],
          durableObjectStorage: this.#storage(),
        },
      })
      for (const id of this.#input.databases)
        this.#sockets.push({ name: id, service: { name: 'd1', props: { json: JSON.stringify({ database: id }) } } })
    }
  }
}
