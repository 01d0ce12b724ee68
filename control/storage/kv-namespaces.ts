import { Type, type Static } from 'typebox'
import { newId } from '../../src/core/ids.js'
import { KV_NAMESPACES, KV_TITLES, type StoredNamespace } from '../../src/core/model/storage.js'
import { strict } from '../../src/core/schema.js'
import type { KeyValues } from '../../src/workers/storage/key-values.js'
import { area } from '../http/area.js'
import { NamedRepository } from '../resources/named-repository.js'
import { page, paging } from '../http/paging.js'
import { ACCESS } from '../http/permissions.js'
import type { ControlDeps } from '../http/context.js'

const NAMESPACES = '/storage/kv/namespaces'
export const NAMESPACE = `${NAMESPACES}/:namespace_id` as const

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

const rows = area(
  { scopes: ['account'], access: ACCESS.kv, refusal: 'badNamespace' },
  (namespaces: NamespaceRepository, values: KeyValues) => ({ namespaces, values }),
)

/** Namespaces of keys and values. */
export const kvNamespaces = rows.endpoints([
  rows.get(NAMESPACES, {
    summary: 'List the namespaces of an account',
    query: Type.Object({
      ...paging({ max: 1000 }),
      order: Type.Enum(['id', 'title'], { default: 'id' }),
      direction: Type.Enum(['asc', 'desc'], { default: 'asc' }),
    }),
    result: Type.Array(Namespace),
    handle({ namespaces }, { scope, query }) {
      const sorted = namespaces.all(scope).toSorted((a, b) => (a[query.order] < b[query.order] ? -1 : 1))
      return page(query.direction === 'asc' ? sorted : sorted.toReversed(), query, shown)
    },
  }),
  rows.post(NAMESPACES, {
    summary: 'Create a namespace',
    body: NewNamespace,
    result: Namespace,
    handle: async ({ namespaces }, call) => shown(await namespaces.create(call, { id: newId(), ...call.body })),
  }),
  rows.get(NAMESPACE, {
    summary: 'Read a namespace',
    result: Namespace,
    handle: ({ namespaces }, { scope, params }) => shown(namespaces.get(scope, params.namespace_id)),
  }),
  rows.put(NAMESPACE, {
    summary: 'Change the title of a namespace',
    body: Type.Object({ title }, strict),
    result: Namespace,
    handle: async ({ namespaces }, call) =>
      shown(await namespaces.change(call, call.params.namespace_id, (old) => ({ ...old, title: call.body.title }))),
  }),
  rows.delete(NAMESPACE, {
    summary: 'Delete a namespace with all of its keys',
    result: Type.Object({}),
    async handle({ namespaces, values }, call) {
      const id = call.params.namespace_id
      namespaces.get(call.scope, id)
      // The namespace itself last: a deletion that fails half way can be repeated.
      await values.clear(call.scope, id)
      await namespaces.remove(call, id, () => values.removal(call.scope, id))
      return {}
    },
  }),
])

const shown = ({ id, title, jurisdiction }: StoredNamespace): Static<typeof Namespace> => ({
  id,
  title,
  supports_url_encoding: true,
  ...(jurisdiction !== undefined && { jurisdiction }),
})
