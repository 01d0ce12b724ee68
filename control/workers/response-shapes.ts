import {
  WORKER_NAMESPACES,
  type Binding,
  type StoredDeployment,
  type StoredScript,
  type StoredVersion,
} from '../../src/core/model/worker.js'
import type { Scope } from '../../src/core/scope.js'
import type { Store } from '../../src/core/store.js'
import { liveExports } from '../../src/workers/script-summary.js'
import { bindingResponse } from '../../src/workers/secrets.js'

const namedHandlers = ({ named }: StoredVersion) =>
  named.map(({ name, handlers }) => ({ name, handlers: [...handlers] }))

/** Returns the members of a version besides its code and bindings. */
function listedVersion(version: StoredVersion) {
  const { id, number, created_on, author, source, annotations } = version
  return {
    id,
    number,
    annotations,
    metadata: {
      created_on,
      modified_on: created_on,
      source,
      author_id: author.id,
      author_email: author.email ?? '',
      hasPreview: false,
      has_preview: false,
    },
  }
}

/** Returns bindings without secrets. A binding of a Durable Object class names the namespace of the class, if it exists. */
export function shownBindings(store: Store, scope: Scope, script: string, bindings: readonly Binding[]): Binding[] {
  return bindings.map((binding) => {
    const { class_name: name, script_name: owner = script, dispatch_namespace: dispatch } = binding
    const shown = bindingResponse(binding)
    if (binding.type !== 'durable_object_namespace' || name === undefined || dispatch !== undefined) return shown
    const namespaces = store.list(WORKER_NAMESPACES, scope)
    const id = namespaces.find(({ value }) => value.script === owner && value.class === name)?.value.id
    return id === undefined ? shown : { ...shown, namespace_id: id }
  })
}

/** A version with everything it consists of; secrets by their names alone. */
export function versionResponse(store: Store, scope: Scope, version: StoredVersion, script: StoredScript) {
  const { etag, handlers, bindings, usage_model, limits, exports, migration_tag } = version
  const { compatibility_date, compatibility_flags } = version
  return {
    ...listedVersion(version),
    startup_time_ms: version.startup_time_ms,
    resources: {
      bindings: shownBindings(store, scope, script.name, bindings),
      script: {
        etag,
        handlers: [...handlers],
        named_handlers: namedHandlers(version),
        last_deployed_from: script.last_deployed_from ?? version.source,
      },
      script_runtime: {
        usage_model,
        compatibility_flags: [...compatibility_flags],
        ...(compatibility_date !== undefined && { compatibility_date }),
        ...(limits && { limits }),
        ...(migration_tag !== undefined && { migration_tag }),
        ...(exports && { exports: liveExports(exports) }),
      },
    },
  }
}

export function deploymentResponse(deployment: StoredDeployment) {
  const { id, created_on, source, strategy, author_email, annotations, versions } = deployment
  return { id, created_on, source, strategy, author_email, annotations, versions: [...versions] }
}
