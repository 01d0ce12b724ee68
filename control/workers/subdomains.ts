import { Type, type Static } from 'typebox'
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
import { area } from '../http/area.js'
import {
  ACCOUNT_ONLY as scopes,
  ApiResponse,
  STORED_WITHOUT_EFFECT,
  type Call,
  type Message,
} from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { ACCESS } from '../http/permissions.js'
import type { WorkersDeps } from './services/index.js'
import { scriptOf } from './services/find.js'

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

const OWN = '/workers/subdomain'

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

const rows = area({ scopes, access: ACCESS.workers, refusal: 'badSubdomain' }, (deps: WorkersDeps) => ({
  deps,
  store: deps.store,
}))

/** The subdomain of an account, and which of its Workers respond below it. */
export const subdomains = rows.endpoints([
  rows.get(OWN, {
    summary: "Read the account's subdomain for Workers",
    result: Subdomain,
    handle({ deps, store }, { scope }) {
      const subdomain = subdomainOf(store, scope, deps.workers().limits().domain)
      if (subdomain === undefined) throw new ApiError('noSubdomain')
      return { subdomain }
    },
  }),
  rows.put(OWN, {
    summary: "Choose the account's subdomain for Workers",
    body: Subdomain,
    jsonAs: ['text/plain'],
    result: Subdomain,
    handle: async ({ deps }, call) => await choose(deps, call),
  }),
  rows.delete(OWN, {
    summary: "Give up the account's subdomain for Workers",
    status: 204,
    handle: async ({ deps }, call) => await giveUp(deps, call),
  }),
  rows.get('/workers/subdomains/:subdomain', {
    summary: 'Tell that a subdomain is taken; one that is free is refused as not found',
    result: Type.Object({}),
    handle({ deps }, { params }) {
      throw new ApiError(ownerOf(deps, params.subdomain) === undefined ? 'subdomainFree' : 'subdomainUnavailable')
    },
  }),
  rows.get('/workers/scripts/:script_name/subdomain', {
    result: Switches,
    summary: 'Tell whether a Worker answers below the subdomain of its account',
    handle({ deps, store }, { scope, params }) {
      scriptOf(deps, scope, params.script_name)
      return scriptSubdomain(store, scope, params.script_name)
    },
  }),
  rows.post('/workers/scripts/:script_name/subdomain', {
    result: Switches,
    summary: 'Say whether a Worker answers below the subdomain of its account',
    body: SwitchesInput,
    handle: async ({ deps }, call) => {
      const { enabled, previews_enabled: previews = enabled } = call.body
      return await switchTo(deps, call, { enabled, previews_enabled: previews })
    },
  }),
  rows.delete('/workers/scripts/:script_name/subdomain', {
    result: Switches,
    summary: 'Take the address below the subdomain of the account from a Worker',
    handle: async ({ deps }, call) => await switchTo(deps, call, OFF),
  }),
])

/**
 * Account that has a subdomain. The id of an account is its subdomain until it chooses another one, so no other account
 * can have it.
 */
const ownerOf = ({ config, store }: WorkersDeps, subdomain: string): string | undefined =>
  config().accounts.find(({ id }) => id === subdomain)?.id ??
  store.get(SUBDOMAIN_OWNERS, DAEMON, subdomain)?.value.account_id

async function choose(deps: WorkersDeps, call: Call<string, Static<typeof Subdomain>>) {
  const { store, clock, edits } = deps
  const { scope, body } = call
  const { subdomain } = body
  return await edits.run(`subdomain ${scope.id}`, async () => {
    const before = store.get(ACCOUNT_SUBDOMAIN, scope, ONLY)
    if (before?.value.subdomain === subdomain) return body
    const owner = ownerOf(deps, subdomain)
    if (owner !== undefined && owner !== scope.id) throw new ApiError('subdomainTaken', '/subdomain')
    const after = { subdomain }
    const change = { kind: ACCOUNT_SUBDOMAIN, scope, id: ONLY, before: before?.value, after }
    await store.batch(
      ...audited(clock, call, { ...change, ifVersion: before?.version }, [
        { kind: SUBDOMAIN_OWNERS, scope: DAEMON, id: subdomain, value: { account_id: scope.id }, ifVersion: 0 },
        ...(before ? [free(before.value.subdomain)] : []),
      ]),
    )
    return after
  })
}

async function giveUp({ store, clock, edits }: WorkersDeps, call: Call): Promise<void> {
  const { scope } = call
  await edits.run(`subdomain ${scope.id}`, async () => {
    const before = store.get(ACCOUNT_SUBDOMAIN, scope, ONLY)
    if (!before) throw new ApiError('noSubdomain')
    const change = { kind: ACCOUNT_SUBDOMAIN, scope, id: ONLY, before: before.value, ifVersion: before.version }
    await store.batch(...audited(clock, call, change, [free(before.value.subdomain)]))
  })
}

const free = (subdomain: string) => ({ kind: SUBDOMAIN_OWNERS, scope: DAEMON, id: subdomain, value: undefined })

async function switchTo(deps: WorkersDeps, call: Call<'script_name'>, after: ScriptSubdomain) {
  const { store, clock, edits } = deps
  const { scope } = call
  const id = call.params.script_name
  return await edits.run(scope.id, async () => {
    scriptOf(deps, scope, id)
    const before = store.get(SCRIPT_SUBDOMAINS, scope, id)
    const change = { kind: SCRIPT_SUBDOMAINS, scope, id, before: before?.value, after, ifVersion: before?.version }
    await store.batch(...audited(clock, call, { action: 'update', ...change }))
    const { domain } = deps.workers().limits()
    return new ApiResponse(after, { messages: after.enabled && domain === null ? NO_DOMAIN : [] })
  })
}
