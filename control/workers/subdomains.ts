import { Type } from 'typebox'
import {
  ACCOUNT_SUBDOMAIN,
  ONLY,
  SCRIPT_SUBDOMAINS,
  SUBDOMAIN_OWNERS,
  type ScriptSubdomain,
} from '../../src/core/model/worker-routing.js'
import { strict } from '../../src/core/schema.js'
import { DAEMON, type Scope } from '../../src/core/scope.js'
import type { Store } from '../../src/core/store.js'
import { audited } from '../resources/audit.js'
import { subdomainOf } from '../../src/workers/script-address.js'
import {
  ACCOUNT_ONLY as scopes,
  ApiResponse,
  endpoint,
  STORED_WITHOUT_EFFECT,
  type Endpoint,
  type Message,
} from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { ACCESS } from '../http/auth/permissions.js'
import type { WorkersDeps } from './services/index.js'
import { scriptOf } from './find.js'

const Subdomain = Type.Object(
  {
    subdomain: Type.String({
      pattern: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$',
      'x-message': 'must be 1 to 63 lower-case letters, digits and hyphens, with no hyphen at either end',
    }),
  },
  strict,
)
const Switches = Type.Object({ enabled: Type.Boolean(), previews_enabled: Type.Boolean() })
const SwitchesInput = Type.Object(
  {
    enabled: Type.Boolean({ description: 'The Worker answers below the subdomain of its account.' }),
    previews_enabled: Type.Optional(Type.Boolean({ description: 'So do its versions. Default: as `enabled`.' })),
  },
  strict,
)

/** A Worker without an address. */
export const OFF: ScriptSubdomain = { enabled: false, previews_enabled: false }

const NO_DOMAIN: readonly Message[] = [
  {
    code: STORED_WITHOUT_EFFECT,
    message:
      'the Worker has no address here, because the server has no domain for Workers; the operator can set workers.domain',
  },
]

/** Host name of a Worker below the domain of the server. Undefined if it has none. */
export function scriptHost({ store, workers }: WorkersDeps, scope: Scope, name: string): string | undefined {
  const { domain } = workers().limits()
  const subdomain = subdomainOf(store, scope, domain)
  const { enabled } = scriptSubdomain(store, scope, name)
  return enabled && domain !== null && subdomain !== undefined ? `${name}.${subdomain}.${domain}` : undefined
}

/** Whether a Worker has an address below the subdomain of its account. */
export const scriptSubdomain = (store: Store, scope: Scope, name: string): ScriptSubdomain =>
  store.get(SCRIPT_SUBDOMAINS, scope, name)?.value ?? OFF

/** The subdomain of an account, and which of its Workers respond below it. */
export function subdomains(deps: WorkersDeps): Endpoint[] {
  const { store, clock, edits } = deps
  const current = (scope: Scope) => store.get(ACCOUNT_SUBDOMAIN, scope, ONLY)
  const domain = () => deps.workers().limits().domain
  // The id of an account is its subdomain until it chooses another one, so no other account can have it.
  const ownerOf = (subdomain: string): string | undefined =>
    deps.config().accounts.find(({ id }) => id === subdomain)?.id ??
    store.get(SUBDOMAIN_OWNERS, DAEMON, subdomain)?.value.account_id
  const own = '/workers/subdomain'
  const ofScript = '/workers/scripts/:script_name/subdomain'
  return [
    endpoint({
      method: 'get',
      path: own,
      scopes,
      permissions: ACCESS.workers.read,
      summary: "Read the account's subdomain for Workers",
      result: Subdomain,
      handle({ scope }) {
        const subdomain = subdomainOf(store, scope, domain())
        if (subdomain === undefined) throw new ApiError('noSubdomain')
        return { subdomain }
      },
    }),
    endpoint({
      method: 'put',
      path: own,
      scopes,
      permissions: ACCESS.workers.write,
      summary: "Choose the account's subdomain for Workers",
      body: Subdomain,
      jsonAs: ['text/plain'],
      result: Subdomain,
      refusal: 'badSubdomain',
      async handle(call) {
        const { scope, body } = call
        const { subdomain } = body
        return await edits.run(`subdomain ${scope.id}`, async () => {
          const before = current(scope)
          if (before?.value.subdomain === subdomain) return body
          const owner = ownerOf(subdomain)
          if (owner !== undefined && owner !== scope.id) throw new ApiError('subdomainTaken', '/subdomain')
          const after = { subdomain }
          await store.batch(
            ...audited(
              clock,
              call,
              { kind: ACCOUNT_SUBDOMAIN, scope, id: ONLY, before: before?.value, after, ifVersion: before?.version },
              [
                {
                  kind: SUBDOMAIN_OWNERS,
                  scope: DAEMON,
                  id: subdomain,
                  value: { account_id: scope.id },
                  ifVersion: 0,
                },
                ...(before
                  ? [{ kind: SUBDOMAIN_OWNERS, scope: DAEMON, id: before.value.subdomain, value: undefined }]
                  : []),
              ],
            ),
          )
          return after
        })
      },
    }),
    endpoint({
      method: 'delete',
      path: own,
      scopes,
      permissions: ACCESS.workers.write,
      summary: "Give up the account's subdomain for Workers",
      status: 204,
      async handle(call) {
        const { scope } = call
        await edits.run(`subdomain ${scope.id}`, async () => {
          const before = current(scope)
          if (!before) throw new ApiError('noSubdomain')
          await store.batch(
            ...audited(
              clock,
              call,
              { kind: ACCOUNT_SUBDOMAIN, scope, id: ONLY, before: before.value, ifVersion: before.version },
              [{ kind: SUBDOMAIN_OWNERS, scope: DAEMON, id: before.value.subdomain, value: undefined }],
            ),
          )
        })
      },
    }),
    endpoint({
      method: 'get',
      path: '/workers/subdomains/:subdomain',
      scopes,
      permissions: ACCESS.workers.read,
      summary: 'Tell that a subdomain is taken; one that is free is refused as not found',
      result: Type.Object({}),
      handle({ params }) {
        throw new ApiError(ownerOf(params.subdomain) === undefined ? 'subdomainFree' : 'subdomainUnavailable')
      },
    }),
    endpoint({
      method: 'get',
      path: ofScript,
      scopes,
      permissions: ACCESS.workers.read,
      summary: 'Tell whether a Worker answers below the subdomain of its account',
      result: Switches,
      handle({ scope, params }) {
        scriptOf(deps, scope, params.script_name)
        return scriptSubdomain(store, scope, params.script_name)
      },
    }),
    ...(['post', 'delete'] as const).map((method) =>
      endpoint({
        method,
        path: ofScript,
        scopes,
        permissions: ACCESS.workers.write,
        summary:
          method === 'post'
            ? 'Say whether a Worker answers below the subdomain of its account'
            : 'Take the address below the subdomain of the account from a Worker',
        ...(method === 'post' && { body: SwitchesInput }),
        result: Switches,
        refusal: 'badSubdomain',
        async handle(call) {
          const { scope, params } = call
          const id = params.script_name
          const input = call.body as { enabled: boolean; previews_enabled?: boolean } | undefined
          const after = input
            ? { enabled: input.enabled, previews_enabled: input.previews_enabled ?? input.enabled }
            : OFF
          return await edits.run(scope.id, async () => {
            scriptOf(deps, scope, id)
            const before = store.get(SCRIPT_SUBDOMAINS, scope, id)
            await store.batch(
              ...audited(clock, call, {
                action: 'update',
                kind: SCRIPT_SUBDOMAINS,
                scope,
                id,
                before: before?.value,
                after,
                ifVersion: before?.version,
              }),
            )
            return new ApiResponse(after, { messages: after.enabled && domain() === null ? NO_DOMAIN : [] })
          })
        },
      }),
    ),
  ]
}
