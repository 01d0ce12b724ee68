import { Type, type Static } from 'typebox'
import { WORKER_DOMAINS } from '../../src/core/model/worker-routing.js'
import type { StoredScript } from '../../src/core/model/worker.js'
import { strict } from '../../src/core/schema.js'
import type { Scope } from '../../src/core/scope.js'
import { Metadata } from '../../src/workers/metadata/schema.js'
import { Observability } from '../../src/workers/metadata/observability.js'
import type { WorkersDeps } from './services/index.js'
import { referencesTo } from './services/references.js'
import { scriptHost, scriptSubdomain } from './subdomains.js'

/** Settings of a Worker besides its name and its code. */
const settings = {
  logpush: Type.Optional(Type.Boolean({ description: 'Default: false.' })),
  observability: Type.Optional(
    Type.Object({ ...Observability.properties, enabled: Type.Optional(Type.Boolean()) }, strict),
  ),
  subdomain: Type.Optional(
    Type.Object({ enabled: Type.Optional(Type.Boolean()), previews_enabled: Type.Optional(Type.Boolean()) }, strict),
  ),
  tags: Metadata.properties.tags,
  tail_consumers: Type.Optional(
    Type.Array(Type.Object({ name: Type.String({ minLength: 1 }) }, strict), {
      maxItems: 100,
      description: 'Other Workers that get its traces.',
    }),
  ),
}

export const NewWorker = Type.Object({ name: Type.String({ minLength: 1 }), ...settings }, strict)
export const WorkerChange = Type.Object({ name: Type.Optional(Type.String({ minLength: 1 })), ...settings }, strict)
export type WorkerChange = Static<typeof WorkerChange>

export const Worker = Type.Object({
  id: Type.String({ description: 'Its id for ever.' }),
  name: Type.String(),
  created_on: Type.String(),
  updated_on: Type.String(),
  deployed_on: Type.Union([Type.String(), Type.Null()]),
  logpush: Type.Boolean(),
  observability: Type.Object({}),
  references: Type.Object({}),
  subdomain: Type.Object({
    enabled: Type.Boolean(),
    previews_enabled: Type.Boolean(),
    url: Type.Optional(
      Type.String({ description: 'Host name of the Worker, if it is enabled and the server has a domain.' }),
    ),
  }),
  tags: Type.Array(Type.String()),
  tail_consumers: Type.Array(Type.Object({ name: Type.String() })),
})

/** A script as a Worker, with who refers to it. */
export function workerResponse(deps: WorkersDeps, scope: Scope, script: StoredScript): Static<typeof Worker> {
  const { name, tag, created_on, modified_on, logpush, tags, tail_consumers, observability = {} } = script
  const url = scriptHost(deps, scope, name)
  return {
    id: tag,
    name,
    created_on,
    updated_on: modified_on,
    deployed_on: deps.workers().repository.readDeployment(scope, script)?.created_on ?? null,
    logpush,
    tags: [...tags],
    tail_consumers: tail_consumers.map(({ service }) => ({ name: service })),
    observability,
    subdomain: { ...scriptSubdomain(deps.store, scope, name), ...(url !== undefined && { url }) },
    references: references(deps, scope, name),
  }
}

function references(deps: WorkersDeps, scope: Scope, name: string) {
  const { services, durable_objects } = referencesTo(deps, scope, name)
  const idOf = (script: string) => deps.workers().repository.script(scope, script)?.value.tag ?? ''
  return {
    dispatch_namespace_outbounds: [],
    domains: deps.store
      .list(WORKER_DOMAINS, scope)
      .filter(({ value }) => value.service === name)
      .map(({ value: { id, hostname, zone_id, zone_name } }) => ({
        id,
        certificate_id: '',
        hostname,
        zone_id,
        zone_name,
      })),
    durable_objects: durable_objects.map((one) => ({
      namespace_id: one.namespace_id,
      namespace_name: `${name}_${one.class}`,
      worker_id: idOf(one.script),
      worker_name: one.script,
    })),
    queues: [],
    workers: services.map((script) => ({ id: idOf(script), name: script })),
  }
}
