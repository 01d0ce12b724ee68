import { QUEUE_CONSUMERS } from '../../../src/core/model/queues.js'
import {
  WORKER_NAMESPACES,
  WORKER_SCRIPTS,
  WORKER_TRANSFERS,
  type StoredScript,
  type StoredVersion,
} from '../../../src/core/model/worker.js'
import {
  SCRIPT_SCHEDULES,
  SCRIPT_SUBDOMAINS,
  WORKER_DOMAINS,
  WORKER_ROUTES,
  ROUTE_PATTERNS,
} from '../../../src/core/model/worker-routing.js'
import type { Scope } from '../../../src/core/scope.js'
import type { Write } from '../../../src/core/store.js'
import type { WorkersDeps } from './index.js'
import { routesOf } from './routes-of.js'

/** The users of a script, by type of use. */
export interface References {
  /** Scripts with a service binding to it. */
  readonly services: readonly string[]
  /** Scripts with a binding to one of its Durable Object classes. */
  readonly durable_objects: readonly {
    readonly script: string
    readonly namespace_id: string
    readonly class: string
  }[]
  /** Scripts that send it their traces. */
  readonly tails: readonly string[]
}

/** Returns the other scripts of the account that use one. Only their newest and their deployed version count. */
export function referencesTo({ store, workers }: WorkersDeps, scope: Scope, name: string): References {
  const { repository } = workers()
  const own = store.list(WORKER_NAMESPACES, scope).filter(({ value }) => value.script === name)
  const byId = new Map(own.map(({ value }) => [value.id, value]))
  const byClass = new Map(own.map(({ value }) => [value.class, value]))
  const services = new Set<string>()
  const objects = new Map<string, References['durable_objects'][number]>()
  const tails = new Set<string>()
  for (const { value: script } of store.list(WORKER_SCRIPTS, scope)) {
    if (script.name === name) continue
    if (script.tail_consumers.some(({ service }) => service === name)) tails.add(script.name)
    for (const version of inUse(repository, scope, script))
      for (const binding of version.bindings) {
        if (binding.type === 'service' && binding['service'] === name) services.add(script.name)
        if (binding.type !== 'durable_object_namespace') continue
        const { namespace_id: id, script_name: of, class_name: className } = binding
        for (const found of [byId.get(String(id)), of === name ? byClass.get(String(className)) : undefined])
          if (found)
            objects.set(`${script.name} ${found.id}`, {
              script: script.name,
              namespace_id: found.id,
              class: found.class,
            })
      }
  }
  return { services: [...services], durable_objects: [...objects.values()], tails: [...tails] }
}

function inUse(
  repository: ReturnType<WorkersDeps['workers']>['repository'],
  scope: Scope,
  script: StoredScript,
): StoredVersion[] {
  const served = repository.readDeployment(scope, script)?.versions.map(({ version_id }) => version_id) ?? []
  const ids = new Set([...script.versions.slice(0, 1), ...served])
  return [...ids].flatMap((id) => repository.readVersion(scope, script, id) ?? [])
}

/** Returns the deletions that belong to the deletion of a script: its routes and domains, schedules, Durable Objects. */
export function belongings(deps: WorkersDeps, scope: Scope, name: string): Write[] {
  const { store } = deps
  const gone = { value: undefined }
  return [
    ...routesOf(deps, scope, name).flatMap(({ zone, route }) => [
      { kind: WORKER_ROUTES, scope: zone, id: route.id, ...gone },
      { kind: ROUTE_PATTERNS, scope: zone, id: route.pattern, ...gone },
    ]),
    ...store
      .list(WORKER_DOMAINS, scope)
      .filter(({ value }) => value.service === name)
      .map(({ id }) => ({ kind: WORKER_DOMAINS, scope, id, ...gone })),
    ...[SCRIPT_SUBDOMAINS, SCRIPT_SCHEDULES]
      .filter((kind) => store.get<unknown>(kind, scope, name))
      .map((kind) => ({ kind, scope, id: name, ...gone })),
    ...store
      .list(WORKER_NAMESPACES, scope)
      .filter(({ value }) => value.script === name)
      .map(({ id }) => ({ kind: WORKER_NAMESPACES, scope, id, ...gone })),
    ...store
      .list(QUEUE_CONSUMERS, scope)
      .filter(({ value }) => value.script === name)
      .map(({ id }) => ({ kind: QUEUE_CONSUMERS, scope, id, ...gone })),
    ...store
      .list(WORKER_TRANSFERS, scope)
      .filter(({ value }) => value.target === name)
      .map(({ id }) => ({ kind: WORKER_TRANSFERS, scope, id, ...gone })),
  ]
}
