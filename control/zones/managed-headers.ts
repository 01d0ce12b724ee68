import { Type, type Static } from 'typebox'
import { assertNoIssues, type Issue } from '../../src/core/errors.js'
import {
  MANAGED_TRANSFORMS,
  TRANSFORM_ID as id,
  TRANSFORMS,
  type ManagedTransform,
  type StoredTransforms,
} from '../../src/core/model/transforms.js'
import { strict } from '../../src/core/schema.js'
import type { Scope } from '../../src/core/scope.js'
import { area } from '../http/area.js'
import { ApiResponse, withoutEffect, type Call } from '../http/endpoint.js'
import { ACCESS } from '../http/permissions.js'
import type { ControlDeps } from '../http/context.js'
import { auditOf } from '../resources/audit.js'

const PATH = '/managed_headers'

const Input = Type.Array(Type.Object({ id: Type.String({ maxLength: 100 }), enabled: Type.Boolean() }, strict), {
  maxItems: 100,
})

const Change = Type.Object(
  { managed_request_headers: Type.Optional(Input), managed_response_headers: Type.Optional(Input) },
  strict,
)
type Change = Static<typeof Change>

const Listed = Type.Array(
  Type.Object({
    id: Type.String(),
    enabled: Type.Boolean(),
    has_conflict: Type.Boolean({ description: 'Another transform that excludes it is enabled.' }),
    conflicts_with: Type.Optional(Type.Array(Type.String())),
  }),
)
const Result = Type.Object({ managed_request_headers: Listed, managed_response_headers: Listed })

const LISTS = [
  ['managed_request_headers', 'request'],
  ['managed_response_headers', 'response'],
] as const

const rows = area(
  { scopes: ['zone'], access: ACCESS.managedHeaders, refusal: 'badTransforms' },
  ({ store, clock }: ControlDeps) => {
    const shown = (scope: Scope): Static<typeof Result> => {
      const enabled = new Set(store.get(MANAGED_TRANSFORMS, scope, id)?.value.enabled)
      const of = (side: ManagedTransform['of']) =>
        TRANSFORMS.filter((transform) => transform.of === side).map(({ id, conflicts }) => ({
          id,
          enabled: enabled.has(id),
          has_conflict: conflicts?.some((other) => enabled.has(other)) ?? false,
          ...(conflicts && { conflicts_with: [...conflicts] }),
        }))
      return { managed_request_headers: of('request'), managed_response_headers: of('response') }
    }
    const change = async (
      call: Pick<Call, 'scope' | 'caller' | 'requestId' | 'source'>,
      next: (old: ReadonlySet<string>) => StoredTransforms | undefined,
    ) => {
      const { scope } = call
      const entry = auditOf(clock, call, { action: 'update', kind: MANAGED_TRANSFORMS, scope, id })
      await store.change(MANAGED_TRANSFORMS, scope, id, (old) => next(new Set(old?.enabled)), entry)
    }
    return { shown, change }
  },
)

/** Managed transforms: ready-made changes of header fields that a zone switches on. */
export const managedHeaders = rows.endpoints([
  rows.get(PATH, {
    summary: 'List the managed transforms of a zone',
    result: Result,
    handle: ({ shown }, { scope }) => shown(scope),
  }),
  rows.patch(PATH, {
    summary: 'Switch managed transforms on or off; those that are not named stay as they are',
    body: Change,
    result: Result,
    further: (_, { body }) => unknownIssues(body),
    async handle({ shown, change }, call) {
      const { body } = call
      assertNoIssues(unknownIssues(body))
      await change(call, (old) => {
        const enabled = new Set(old)
        for (const [list] of LISTS)
          for (const one of body[list] ?? [])
            if (one.enabled) enabled.add(one.id)
            else enabled.delete(one.id)
        assertNoIssues(conflictIssues(body, enabled))
        return { enabled: [...enabled].sort() }
      })
      return new ApiResponse(shown(call.scope), { messages: withoutEffect(inert(body)) })
    },
  }),
  rows.delete(PATH, {
    summary: 'Switch all managed transforms of a zone off',
    result: Result,
    async handle({ shown, change }, call) {
      await change(call, () => undefined)
      return shown(call.scope)
    },
  }),
])

/** Returns the entries of a change with their pointers and sides. */
const entries = (body: Partial<Change>) =>
  LISTS.flatMap(([list, side]) =>
    (body[list] ?? []).map((entry, index) => ({ ...entry, side, pointer: `/${list}/${index}` })),
  )

function unknownIssues(body: Partial<Change>): Issue[] {
  const seen = new Set<string>()
  return entries(body).flatMap(({ id, side, pointer }) => {
    if (!TRANSFORMS.some((known) => known.id === id && known.of === side))
      return [{ pointer: `${pointer}/id`, message: `is not a managed transform of ${side}s: ${JSON.stringify(id)}` }]
    if (seen.has(id)) return [{ pointer: `${pointer}/id`, message: 'is a duplicate' }]
    seen.add(id)
    return []
  })
}

const conflictIssues = (body: Change, enabled: ReadonlySet<string>): Issue[] =>
  entries(body).flatMap((entry) => {
    const { conflicts = [] } = TRANSFORMS.find(({ id }) => id === entry.id)!
    const other = entry.enabled && conflicts.find((one) => enabled.has(one))
    return other ? [{ pointer: `${entry.pointer}/id`, message: `cannot be on together with ${other}` }] : []
  })

/** Returns pointers to the entries that are switched on without effect. */
const inert = (body: Change): string[] =>
  entries(body).flatMap((entry) =>
    entry.enabled && TRANSFORMS.find(({ id }) => id === entry.id)?.inert ? [entry.pointer] : [],
  )
