import { Type, type Static } from 'typebox'
import { newId } from '../../src/core/ids.js'
import {
  SECRET_STORE_NAMES,
  SECRET_STORES,
  secretName,
  STORE_SECRET_NAMES,
  STORE_SECRETS,
  type StoredSecretStore,
} from '../../src/core/model/secrets-store.js'
import { strict } from '../../src/core/schema.js'
import type { Scope } from '../../src/core/scope.js'
import type { Write } from '../../src/core/store.js'
import { ApiError } from '../http/errors.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY } from '../http/endpoint.js'
import { ACCESS } from '../http/permissions.js'
import { page, paging } from '../http/paging.js'
import { NamedRepository } from '../resources/named-repository.js'
import type { ControlDeps } from '../http/context.js'

const PATH = '/secrets_store/stores'
const MAX_STORES = 20
/** Secrets of an account, all stores together. */
export const MAX_SECRETS = 1000

const name = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: '^[^\\s/]+$',
  'x-message': 'must be a name without spaces and slashes',
})
const StoreResponse = Type.Object({
  id: Type.String(),
  name: Type.String(),
  account_id: Type.String(),
  created: Type.String(),
  modified: Type.String(),
})

const shown =
  (scope: Scope) =>
  (store: StoredSecretStore): Static<typeof StoreResponse> => ({ ...store, account_id: scope.id })

/** Query parameter of an order. */
export const direction = Type.Optional(Type.Enum(['asc', 'desc']))

/** Returns the items in the order that a query names. */
export function ordered<T extends object>(items: readonly T[], by: keyof T, direction: string | undefined): T[] {
  const sign = direction === 'desc' ? -1 : 1
  return items.toSorted((a, b) => (String(a[by]) < String(b[by]) ? -sign : sign))
}

export type SecretStores = NamedRepository<StoredSecretStore>

export const secretStores = (deps: ControlDeps): SecretStores =>
  new NamedRepository<StoredSecretStore>(deps, {
    kind: SECRET_STORES,
    names: SECRET_STORE_NAMES,
    idOf: ({ id }) => id,
    nameOf: (store) => store.name,
    max: MAX_STORES,
    notFound: 'secretStoreNotFound',
    taken: 'secretStoreExists',
    tooMany: 'tooManySecretStores',
  })

const rows = area(
  { scopes: ACCOUNT_ONLY, access: ACCESS.secretsStore, refusal: 'badSecretStore' },
  ({ store, clock }: ControlDeps, stores: SecretStores) => ({ stores, clock, store }),
)

/** Stores of secrets. The secrets have endpoints of their own. */
export const secretsStores = rows.endpoints([
  rows.get(PATH, {
    summary: 'List the stores of secrets of an account',
    query: Type.Object({
      ...paging({ max: 1000 }),
      order: Type.Optional(Type.Enum(['name', 'created', 'modified'])),
      direction,
    }),
    result: Type.Array(StoreResponse),
    handle: ({ stores }, { scope, query }) =>
      page(ordered(stores.all(scope), query.order ?? 'created', query.direction), query, shown(scope)),
  }),
  rows.post(PATH, {
    summary: 'Create a store of secrets',
    body: Type.Object({ name }, strict),
    jsonAs: ['text/plain'],
    result: StoreResponse,
    async handle({ clock, stores }, call) {
      const now = new Date(clock.now()).toISOString()
      return shown(call.scope)(
        await stores.create(call, { id: newId(), name: call.body.name, created: now, modified: now }),
      )
    },
  }),
  rows.get(`${PATH}/:store_id`, {
    summary: 'Read a store of secrets',
    result: StoreResponse,
    handle: ({ stores }, { scope, params }) => shown(scope)(stores.get(scope, params.store_id)),
  }),
  rows.delete(`${PATH}/:store_id`, {
    summary: 'Delete a store of secrets',
    query: Type.Object({
      force: Type.Boolean({ default: false, description: 'With its secrets. Else the store must be empty.' }),
    }),
    result: StoreResponse,
    async handle({ store, stores }, call) {
      const { scope, params, query } = call
      const secrets = store.list(STORE_SECRETS, scope).filter(({ value }) => value.store_id === params.store_id)
      if (secrets.length > 0 && !query.force) throw new ApiError('secretStoreNotEmpty')
      const removals = secrets.flatMap(({ id, value }): Write[] => [
        { kind: STORE_SECRETS, scope, id, value: undefined },
        { kind: STORE_SECRET_NAMES, scope, id: secretName(value.store_id, value.name), value: undefined },
      ])
      return shown(scope)(await stores.remove(call, params.store_id, () => removals))
    },
  }),
  rows.get('/secrets_store/quota', {
    summary: 'Read how many secrets an account has',
    result: Type.Object({ secrets: Type.Object({ quota: Type.Integer(), usage: Type.Integer() }) }),
    handle: ({ store }, { scope }) => ({ secrets: { quota: MAX_SECRETS, usage: store.count(STORE_SECRETS, scope) } }),
  }),
])
