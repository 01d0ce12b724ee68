import { Type } from 'typebox'
import { SETTING } from '../../src/core/model/setting.js'
import { strict } from '../../src/core/schema.js'
import type { Scope } from '../../src/core/scope.js'
import { area } from '../http/area.js'
import type { ControlDeps } from '../http/context.js'
import { ApiResponse, withoutEffect, type Call } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { ACCESS } from '../http/permissions.js'
import { auditOf } from '../resources/audit.js'

const HOLD = 'hold'
const UNIVERSAL = 'universal_ssl'

const time = Type.String({ format: 'date-time' })
const Hold = Type.Object({
  hold: Type.Boolean(),
  include_subdomains: Type.Optional(Type.Boolean()),
  hold_after: Type.Optional(time),
})
interface Hold {
  readonly hold: boolean
  readonly include_subdomains?: boolean
  readonly hold_after?: string
}
const Universal = Type.Object({ enabled: Type.Boolean() })

const servicesOf = ({ store, clock }: Pick<ControlDeps, 'store' | 'clock'>) => {
  const read = (scope: Scope, id: string): unknown => store.get(SETTING, scope, id)?.value.value
  const write = async (call: Call, id: string, value: unknown): Promise<void> => {
    const { scope } = call
    const setting = { value, modified_on: new Date(clock.now()).toISOString() }
    await store.change(
      SETTING,
      scope,
      id,
      () => setting,
      auditOf(clock, call, { action: 'update', kind: SETTING, scope, id }),
    )
  }
  const hold = (scope: Scope): Hold => (read(scope, HOLD) ?? { hold: false }) as Hold
  const setHold = async (call: Call, value: Hold): Promise<ApiResponse<Hold>> => {
    await write(call, HOLD, value)
    return new ApiResponse(value, { messages: withoutEffect(value.hold ? [''] : []) })
  }
  return { read, write, hold, setHold, now: () => clock.now() }
}

/** Rejects a time that does not exist. */
const checked = (at: string | undefined): { hold_after?: string } => {
  if (at === undefined) return {}
  if (Number.isNaN(Date.parse(at))) throw new ApiError('badSetting', '/hold_after', 'must be a time that exists')
  return { hold_after: at }
}

const holds = area({ scopes: ['zone'], access: ACCESS.zones, refusal: 'badSetting' }, servicesOf)
const certificates = area({ scopes: ['zone'], access: ACCESS.certificates, refusal: 'badSetting' }, servicesOf)

/** The hold of a zone. Zones of edged are in the configuration or belong to one account, so it has no effect. */
const zoneHold = holds.endpoints([
  holds.get('/hold', {
    summary: 'Read the hold of a zone',
    result: Hold,
    handle: ({ hold }, { scope }) => hold(scope),
  }),
  holds.post('/hold', {
    summary: 'Hold a zone',
    query: Type.Object({ include_subdomains: Type.Optional(Type.Enum(['true', 'false'])) }),
    result: Hold,
    handle: async ({ setHold }, call) =>
      await setHold(call, { hold: true, include_subdomains: call.query.include_subdomains === 'true' }),
  }),
  holds.patch('/hold', {
    summary: 'Change the hold of a zone',
    body: Type.Object(
      {
        include_subdomains: Type.Optional(Type.Boolean()),
        hold_after: Type.Optional(Type.Union([Type.String({ maxLength: 64 }), Type.Null()])),
      },
      strict,
    ),
    result: Hold,
    async handle({ hold, setHold }, call) {
      const { hold_after: after, include_subdomains: below } = call.body
      const { hold_after: before, ...old } = hold(call.scope)
      const next = after === undefined ? before : (after ?? undefined)
      return await setHold(call, {
        ...old,
        ...(below !== undefined && { include_subdomains: below }),
        ...checked(next),
      })
    },
  }),
  holds.delete('/hold', {
    summary: 'End the hold of a zone',
    query: Type.Object({ hold_after: Type.Optional(Type.String({ maxLength: 64 })) }),
    result: Hold,
    handle: async ({ setHold }, call) => await setHold(call, { hold: false, ...checked(call.query.hold_after) }),
  }),
])

/** Universal SSL of a zone: stored. Certificates come from files and from ACME. */
const universal = certificates.endpoints([
  certificates.get('/ssl/universal/settings', {
    summary: 'Read whether Universal SSL is on for a zone',
    result: Universal,
    handle: ({ read }, { scope }) => ({ enabled: read(scope, UNIVERSAL) !== false }),
  }),
  certificates.patch('/ssl/universal/settings', {
    summary: 'Switch Universal SSL of a zone on or off',
    body: Type.Object({ enabled: Type.Boolean() }, strict),
    result: Universal,
    async handle({ write }, call) {
      const { enabled } = call.body
      await write(call, UNIVERSAL, enabled)
      return new ApiResponse({ enabled }, { messages: withoutEffect(['/enabled']) })
    },
  }),
])

/** What a zone of the public API has besides its settings. It is stored, without effect. */
export const inertSettings = (deps: ControlDeps) => [...zoneHold(deps), ...universal(deps)]
