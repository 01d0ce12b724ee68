import { Type, type Static } from 'typebox'
import { newId } from '../../src/core/ids.js'
import { secretName, STORE_SECRET_NAMES, STORE_SECRETS, type StoredSecret } from '../../src/core/model/secrets-store.js'
import { strict } from '../../src/core/schema.js'
import type { Scope } from '../../src/core/scope.js'
import { secretOf, type Vault } from '../../src/core/vault.js'
import { ApiError } from '../http/errors.js'
import { area, type ServicesOf } from '../http/area.js'
import { ACCOUNT_ONLY, ApiResponse } from '../http/endpoint.js'
import { ACCESS } from '../http/permissions.js'
import { page, paging } from '../http/paging.js'
import { NamedRepository } from '../resources/named-repository.js'
import type { Actor } from '../resources/audit.js'
import type { ControlDeps } from '../http/context.js'
import { direction, MAX_SECRETS, ordered, type SecretStores } from './secrets-store.js'

const PATH = '/secrets_store/stores/:store_id/secrets'
const SECRET = `${PATH}/:secret_id` as const
const MAX_NEW = 100
const SCOPES = ['workers', 'ai_gateway', 'dex', 'access', 'containers', 'websearch'] as const

const name = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: '^[^\\s/]+$',
  'x-message': 'must be a name without spaces and slashes',
})
const value = Type.String({ minLength: 1, maxLength: 65_536, description: 'The secret. Never returned.' })
const comment = Type.Optional(Type.String({ maxLength: 1024 }))
const scopes = Type.Array(Type.Enum(SCOPES), { description: 'What may use it. Workers need `workers`.' })

const NewSecrets = Type.Array(Type.Object({ name, value, scopes, comment }, strict), { minItems: 1, maxItems: MAX_NEW })
const SecretChange = Type.Object(
  { value: Type.Optional(value), scopes: Type.Optional(scopes), comment, name: Type.Optional(name) },
  strict,
)

const SecretId = Type.String({ maxLength: 64 })
/** Clients send an object now, and sent a list before. */
const ChosenSecrets = Type.Union([
  Type.Object({ ids: Type.Array(SecretId, { maxItems: MAX_SECRETS }) }, strict),
  Type.Array(Type.Object({ id: SecretId }, strict), { maxItems: MAX_SECRETS }),
])

const SecretResponse = Type.Object({
  id: Type.String(),
  store_id: Type.String(),
  name: Type.String(),
  comment: Type.String(),
  scopes: Type.Array(Type.String()),
  status: Type.Literal('active'),
  created: Type.String(),
  modified: Type.String(),
})

const shown = ({ value: _value, scopes: all, ...secret }: StoredSecret): Static<typeof SecretResponse> => ({
  ...secret,
  scopes: [...all],
  status: 'active',
})

type Services = ServicesOf<typeof rows>
const rows = area(
  { scopes: ACCOUNT_ONLY, access: ACCESS.secretsStore, refusal: 'badStoreSecret' },
  ({ vault, ...deps }: ControlDeps & { readonly vault: () => Vault }, stores: SecretStores) => {
    const secrets = new NamedRepository<StoredSecret>(deps, {
      kind: STORE_SECRETS,
      names: STORE_SECRET_NAMES,
      idOf: ({ id }) => id,
      nameOf: ({ store_id, name: own }) => secretName(store_id, own),
      max: MAX_SECRETS,
      notFound: 'storeSecretNotFound',
      taken: 'storeSecretExists',
      tooMany: 'tooManyStoreSecrets',
    })
    const now = () => new Date(deps.clock.now()).toISOString()
    return {
      stores,
      secrets,
      now,
      seal: (scope: Scope, id: string, text: string) => ({ sealed: vault().seal(text, aad(scope, id)) }),
      open: (scope: Scope, secret: StoredSecret) => vault().open(secret.value.sealed, aad(scope, secret.id)),
      of: (scope: Scope, storeId: string, id: string, pointer?: string): StoredSecret => {
        stores.get(scope, storeId)
        const secret = secrets.find(scope, id)
        if (secret?.store_id !== storeId) throw new ApiError('storeSecretNotFound', pointer)
        return secret
      },
    }
  },
)

/** Secrets of stores. Their values are encrypted, and never returned. */
export const storeSecrets = rows.endpoints([
  rows.get(PATH, {
    summary: 'List the secrets of a store, without their values',
    query: Type.Object({
      ...paging({ max: 1000 }),
      order: Type.Optional(Type.Enum(['name', 'comment', 'created', 'modified', 'status'])),
      direction,
      search: Type.Optional(Type.String({ description: 'A part of the name.' })),
      scopes: Type.Optional(Type.String({ description: 'Scopes separated by commas: secrets with one of them.' })),
    }),
    result: Type.Array(SecretResponse),
    handle({ stores, secrets }, { scope, params, query }) {
      stores.get(scope, params.store_id)
      const wanted = query.scopes?.split(',')
      const found = secrets
        .all(scope)
        .filter(
          (one) =>
            one.store_id === params.store_id &&
            one.name.includes(query.search ?? '') &&
            (wanted === undefined || one.scopes.some((each) => wanted.includes(each))),
        )
        .map(shown)
      return page(ordered(found, query.order ?? 'created', query.direction), query, (one) => one)
    },
  }),
  rows.post(PATH, {
    summary: `Create up to ${MAX_NEW} secrets in a store`,
    body: NewSecrets,
    jsonAs: ['text/plain'],
    result: Type.Array(SecretResponse),
    async handle({ stores, secrets, seal, now }, call) {
      const { scope, params, body } = call
      stores.get(scope, params.store_id)
      const names = new Set(body.map((one) => one.name))
      const taken = body.some((one) => secrets.named(scope, secretName(params.store_id, one.name)))
      if (taken || names.size < body.length) throw new ApiError('storeSecretExists')
      // Before the first one is stored: a list is stored whole or not.
      if (secrets.all(scope).length + body.length > MAX_SECRETS) throw new ApiError('tooManyStoreSecrets')
      const made: StoredSecret[] = []
      for (const one of body) made.push(await create({ secrets, seal, now }, call, params.store_id, one))
      return new ApiResponse(made.map(shown))
    },
  }),
  rows.delete(PATH, {
    summary: 'Delete several secrets of a store, all or none',
    body: ChosenSecrets,
    bodyOptional: false,
    status: 202,
    result: Type.Array(SecretResponse),
    async handle({ of, secrets }, call) {
      const { scope, params, body } = call
      const chosen = Array.isArray(body)
        ? body.map(({ id }, at) => ({ id, pointer: `/${at}/id` }))
        : body.ids.map((id, at) => ({ id, pointer: `/ids/${at}` }))
      const ids = chosen.map(({ id, pointer }) => of(scope, params.store_id, id, pointer).id)
      return (await secrets.removeAll(call, [...new Set(ids)])).map(shown)
    },
  }),
  rows.get(SECRET, {
    summary: 'Read a secret, without its value',
    result: SecretResponse,
    handle: ({ of }, { scope, params }) => shown(of(scope, params.store_id, params.secret_id)),
  }),
  rows.patch(SECRET, {
    summary: 'Change a secret; what is left out stays. Workers get a new value without a new version',
    body: SecretChange,
    jsonAs: ['text/plain'],
    result: SecretResponse,
    async handle({ of, secrets, seal, now }, call) {
      const { scope, params, body } = call
      of(scope, params.store_id, params.secret_id)
      const { value: text, ...change } = body
      const changed = await secrets.change(call, params.secret_id, (old) => ({
        ...old,
        ...change,
        ...(text !== undefined && { value: seal(scope, old.id, text) }),
        modified: now(),
      }))
      return shown(changed)
    },
  }),
  rows.delete(SECRET, {
    summary: 'Delete a secret. Workers that use it get an error when they read it',
    result: SecretResponse,
    async handle({ of, secrets }, call) {
      const { scope, params } = call
      of(scope, params.store_id, params.secret_id)
      return shown(await secrets.remove(call, params.secret_id))
    },
  }),
  rows.post(`${SECRET}/duplicate`, {
    summary: 'Create a secret with the value of another one',
    body: Type.Object({ name, scopes, comment }, strict),
    jsonAs: ['text/plain'],
    result: SecretResponse,
    async handle({ of, open, secrets, seal, now }, call) {
      const { scope, params, body } = call
      const text = open(scope, of(scope, params.store_id, params.secret_id))
      return shown(await create({ secrets, seal, now }, call, params.store_id, { ...body, value: text }))
    },
  }),
])

const aad = (scope: Scope, id: string): string => secretOf(STORE_SECRETS, scope, id)

async function create(
  { secrets, seal, now }: Pick<Services, 'secrets' | 'seal' | 'now'>,
  actor: Actor,
  storeId: string,
  given: Static<typeof NewSecrets>[number],
): Promise<StoredSecret> {
  const id = newId()
  const { value: text, comment: about = '', ...more } = given
  const at = now()
  const sealed = seal(actor.scope, id, text)
  return await secrets.create(actor, {
    id,
    store_id: storeId,
    comment: about,
    created: at,
    modified: at,
    ...more,
    value: sealed,
  })
}
