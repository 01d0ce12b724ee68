import { Type, type Static } from 'typebox'
import { assertNoIssues, type Issue } from '../../src/core/errors.js'
import { FALLBACK_ORIGIN, FALLBACK_ORIGIN_ID as id, type FallbackOrigin } from '../../src/core/model/hostname.js'
import { strict } from '../../src/core/schema.js'
import type { Scope } from '../../src/core/scope.js'
import { auditOf } from '../resources/audit.js'
import { area } from '../http/area.js'
import { ACCESS } from '../http/permissions.js'
import { ApiError } from '../http/errors.js'
import type { ControlDeps } from '../http/context.js'
import { hostName } from './hostname-match.js'

const PATH = '/custom_hostnames/fallback_origin'

const Input = Type.Object(
  {
    origin: Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'Host name; scheme and port are those of the origin of the zone. Public, or allowed by egress.',
    }),
  },
  strict,
)

const time = Type.String({ format: 'date-time' })
const Result = Type.Object({
  origin: Type.String(),
  status: Type.Enum(['active', 'pending_deletion']),
  errors: Type.Array(Type.String()),
  created_at: time,
  updated_at: time,
})

const rows = area(
  { scopes: ['zone'], access: ACCESS.certificates, refusal: 'badHostname' },
  ({ store, clock }: ControlDeps) => {
    const change = async (
      call: Parameters<typeof auditOf>[1] & { readonly scope: Scope },
      next: (old: FallbackOrigin | undefined) => FallbackOrigin | undefined,
    ) =>
      await store.change(
        FALLBACK_ORIGIN,
        call.scope,
        id,
        next,
        auditOf(clock, call, { kind: FALLBACK_ORIGIN, scope: call.scope, id }),
      )
    const stored = (scope: Scope): FallbackOrigin => {
      const found = store.get(FALLBACK_ORIGIN, scope, id)
      if (!found) throw new ApiError('noFallbackOrigin')
      return found.value
    }
    return { stored, clock, change }
  },
)

/** The origin of custom hostnames that name none themselves; without one they use the origin of the zone. */
export const fallbackOrigin = rows.endpoints([
  rows.get(PATH, {
    summary: 'Read the fallback origin of custom hostnames',
    result: Result,
    handle: ({ stored }, { scope }) => shown(stored(scope)),
  }),
  rows.put(PATH, {
    summary: 'Set the origin of custom hostnames that name none themselves',
    body: Input,
    result: Result,
    async handle({ clock, change, stored }, call) {
      assertNoIssues(originIssues(call.body))
      const origin = hostName(call.body.origin) ?? ''
      const now = new Date(clock.now()).toISOString()
      const after = await change(call, (old) => ({ created_at: now, ...old, origin, updated_at: now }))
      return shown(after?.value ?? stored(call.scope))
    },
  }),
  rows.delete(PATH, {
    summary: 'Remove the fallback origin: custom hostnames use the origin of the zone',
    result: Result,
    async handle({ change, stored }, call) {
      const before = stored(call.scope)
      await change(call, () => undefined)
      return { ...shown(before), status: 'pending_deletion' as const }
    },
  }),
])

const originIssues = ({ origin }: Static<typeof Input>): Issue[] =>
  hostName(origin) === undefined
    ? [{ pointer: '/origin', message: 'must be a host name, as in origin.example.com' }]
    : []

const shown = (stored: FallbackOrigin): Static<typeof Result> => ({ ...stored, status: 'active', errors: [] })
