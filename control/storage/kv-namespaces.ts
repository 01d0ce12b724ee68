import { Type, type Static } from 'typebox'
import { newId } from '../../src/core/ids.js'
import { KV_NAMESPACES, KV_TITLES, type StoredNamespace } from '../../src/core/model/storage.js'
import { strict } from '../../src/core/schema.js'
import type { KeyValues } from '../../src/workers/storage/key-values.js'
import { endpoint, type Endpoint } from '../http/endpoint.js'
import { NamedRepository } from '../resources/named-repository.js'
import { page, paging } from '../http/paging.js'
import { ACCESS } from '../http/permissions.js'
import type { ControlDeps } from '../http/context.js'

const NAMESPACES = '/storage/kv/namespaces'
export const NAMESPACE = `${NAMESPACES}/:namespace_id` as const
const scopes = ['account'] as const

const title = Type.String({ minLength: 1, maxLength: 512 })
const NewNamespace = Type.Object({ title, jurisdiction: Type.Optional(Type.Enum(['eu', 'fedramp', 'us'])) }, strict)
const Namespace = Type.Object({
  id: Type.String(),
  title: Type.String(),
  supports_url_encoding: Type.Literal(true),
  jurisdiction: Type.Optional(Type.String()),
})

/** The namespaces of all accounts. */
export const namespaceRepository = (deps: Pick<ControlDeps, 'store' | 'clock'>) =>
  new NamedRepository<StoredNamespace>(deps, {
    kind: KV_NAMESPACES,
    names: KV_TITLES,
    idOf: ({ id }) => id,
    nameOf: (namespace) => namespace.title,
    max: 1000,
    notFound: 'namespaceNotFound',
    taken: 'namespaceExists',
    tooMany: 'tooManyNamespaces',
  })
export type NamespaceRepository = ReturnType<typeof namespaceRepository>

/** Namespaces of keys and values. */
export function kvNamespaces(namespaces: NamespaceRepository, values: KeyValues): Endpoint[] {
  const context = contextOf(namespaces, values)
  return [
    listNamespaces(context),
    createNamespace(context),
    readNamespace(context),
    replaceNamespace(context),
    removeNamespace(context),
  ]
}

type Context = ReturnType<typeof contextOf>

/** Returns the dependencies that these endpoints share. */
function contextOf(namespaces: NamespaceRepository, values: KeyValues) {
  const row = { scopes, refusal: 'badNamespace' } as const
  return { namespaces, row, values }
}

function listNamespaces({ namespaces, row }: Context): Endpoint {
  return endpoint({
    ...row,
    method: 'get',
    path: NAMESPACES,
    permissions: ACCESS.kv.read,
    summary: 'List the namespaces of an account',
    query: Type.Object({
      ...paging({ max: 1000 }),
      order: Type.Enum(['id', 'title'], { default: 'id' }),
      direction: Type.Enum(['asc', 'desc'], { default: 'asc' }),
    }),
    result: Type.Array(Namespace),
    handle({ scope, query }) {
      const sorted = namespaces.all(scope).toSorted((a, b) => (a[query.order] < b[query.order] ? -1 : 1))
      return page(query.direction === 'asc' ? sorted : sorted.toReversed(), query, shown)
    },
  })
}

function createNamespace({ namespaces, row }: Context): Endpoint {
  return endpoint({
    ...row,
    method: 'post',
    path: NAMESPACES,
    permissions: ACCESS.kv.write,
    summary: 'Create a namespace',
    body: NewNamespace,
    result: Namespace,
    handle: async (call) => shown(await namespaces.create(call, { id: newId(), ...call.body })),
  })
}

function readNamespace({ namespaces, row }: Context): Endpoint {
  return endpoint({
    ...row,
    method: 'get',
    path: NAMESPACE,
    permissions: ACCESS.kv.read,
    summary: 'Read a namespace',
    result: Namespace,
    handle: ({ scope, params }) => shown(namespaces.get(scope, params.namespace_id)),
  })
}

function replaceNamespace({ namespaces, row }: Context): Endpoint {
  return endpoint({
    ...row,
    method: 'put',
    path: NAMESPACE,
    permissions: ACCESS.kv.write,
    summary: 'Change the title of a namespace',
    body: Type.Object({ title }, strict),
    result: Namespace,
    handle: async (call) =>
      shown(await namespaces.change(call, call.params.namespace_id, (old) => ({ ...old, title: call.body.title }))),
  })
}

function removeNamespace({ namespaces, values, row }: Context): Endpoint {
  return endpoint({
    ...row,
    method: 'delete',
    path: NAMESPACE,
    permissions: ACCESS.kv.write,
    summary: 'Delete a namespace with all of its keys',
    result: Type.Object({}),
    async handle(call) {
      const id = call.params.namespace_id
      await namespaces.remove(call, id, () => values.removal(call.scope, id))
      return {}
    },
  })
}

const shown = ({ id, title, jurisdiction }: StoredNamespace): Static<typeof Namespace> => ({
  id,
  title,
  supports_url_encoding: true,
  ...(jurisdiction !== undefined && { jurisdiction }),
})
