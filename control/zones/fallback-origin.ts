import { Type, type Static } from 'typebox'
import { assertNoIssues, type Issue } from '../../src/core/errors.js'
import { FALLBACK_ORIGIN, FALLBACK_ORIGIN_ID as id, type FallbackOrigin } from '../../src/core/model/hostname.js'
import { strict } from '../../src/core/schema.js'
import type { Scope } from '../../src/core/scope.js'
import { auditOf } from '../resources/audit.js'
import { endpoint, type Endpoint } from '../http/endpoint.js'
import { ACCESS } from '../http/permissions.js'
import { ApiError } from '../http/errors.js'
import type { ControlDeps } from '../http/context.js'
import { hostName } from './hostname-match.js'

const PATH = '/custom_hostnames/fallback_origin'
const scopes = ['zone'] as const

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

/** The origin of custom hostnames that name none themselves; without one they use the origin of the zone. */
export function fallbackOrigin(deps: ControlDeps): Endpoint[] {
  const context = contextOf(deps)
  return [readFallbackOrigin(context), replaceFallbackOrigin(context), removeFallbackOrigin(context)]
}

type Context = ReturnType<typeof contextOf>

/** Returns the dependencies that these endpoints share. */
function contextOf({ store, clock }: ControlDeps) {
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
}

function readFallbackOrigin({ stored }: Context): Endpoint {
  return endpoint({
    method: 'get',
    path: PATH,
    scopes,
    permissions: ACCESS.certificates.read,
    summary: 'Read the fallback origin of custom hostnames',
    result: Result,
    handle: ({ scope }) => shown(stored(scope)),
  })
}

function replaceFallbackOrigin({ clock, change, stored }: Context): Endpoint {
  return endpoint({
    method: 'put',
    path: PATH,
    scopes,
    permissions: ACCESS.certificates.write,
    summary: 'Set the origin of custom hostnames that name none themselves',
    body: Input,
    result: Result,
    refusal: 'badHostname',
    async handle(call) {
      assertNoIssues(originIssues(call.body))
      const origin = hostName(call.body.origin) ?? ''
      const now = new Date(clock.now()).toISOString()
      const after = await change(call, (old) => ({ created_at: now, ...old, origin, updated_at: now }))
      return shown(after?.value ?? stored(call.scope))
    },
  })
}

function removeFallbackOrigin({ change, stored }: Context): Endpoint {
  return endpoint({
    method: 'delete',
    path: PATH,
    scopes,
    permissions: ACCESS.certificates.write,
    summary: 'Remove the fallback origin: custom hostnames use the origin of the zone',
    result: Result,
    async handle(call) {
      const before = stored(call.scope)
      await change(call, () => undefined)
      return { ...shown(before), status: 'pending_deletion' as const }
    },
  })
}

const originIssues = ({ origin }: Static<typeof Input>): Issue[] =>
  hostName(origin) === undefined
    ? [{ pointer: '/origin', message: 'must be a host name, as in origin.example.com' }]
    : []

const shown = (stored: FallbackOrigin): Static<typeof Result> => ({ ...stored, status: 'active', errors: [] })
