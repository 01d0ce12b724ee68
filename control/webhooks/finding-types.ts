import { Type, type Static } from 'typebox'
import { FindingCategory, FINDINGS, SEVERITIES, type StoredFinding } from '../../src/core/model/finding.js'
import type { Scope } from '../../src/core/scope.js'
import type { ControlDeps } from '../http/context.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { page, paging } from '../http/paging.js'
import { ACCESS } from '../http/permissions.js'
import { POSTURE } from './services.js'

const PATH = `${POSTURE}/finding_types`

const FindingType = Type.Object({
  id: Type.String(),
  name: Type.String(),
  description: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  severity: Type.Enum([...SEVERITIES]),
  vendor: Type.String(),
  category: FindingCategory,
})
type FindingType = Static<typeof FindingType>

const RemediationType = Type.Object({
  id: Type.String(),
  finding_type_id: Type.String(),
  remediation_type: Type.String(),
  display_name: Type.String(),
  description: Type.String(),
})

const typeOf = ({
  finding_type_id: id,
  name,
  description,
  severity,
  vendor,
  category,
}: StoredFinding): FindingType => ({
  id,
  name,
  ...(description !== undefined && { description }),
  severity,
  vendor,
  category,
})

const rows = area({ scopes, access: ACCESS.webhooks }, ({ store }: Pick<ControlDeps, 'store'>) => {
  const types = (scope: Scope): ReadonlyMap<string, FindingType> => {
    const latest = new Map<string, StoredFinding>()
    for (const { value } of store.list(FINDINGS, scope)) {
      const known = latest.get(value.finding_type_id)
      if (known === undefined || known.updated_at <= value.updated_at) latest.set(value.finding_type_id, value)
    }
    return new Map([...latest].map(([id, finding]) => [id, typeOf(finding)]))
  }
  const typed = (scope: Scope, id: string): FindingType => {
    const found = types(scope).get(id)
    if (!found) throw new ApiError('findingTypeNotFound')
    return found
  }
  return { types, typed }
})

/** The types of the findings that an account has, as their latest finding describes them: policies name them. */
export const findingTypes = rows.endpoints([
  rows.get(PATH, {
    summary: 'List the types of the findings of an account',
    query: Type.Object({
      ...paging({ max: 100 }),
      search: Type.Optional(Type.String({ maxLength: 256, description: 'Part of the name.' })),
      vendors: Type.Optional(Type.Array(Type.String({ maxLength: 256 }), { maxItems: 100 })),
    }),
    result: Type.Array(FindingType),
    handle({ types }, { scope, query }) {
      const { search = '', vendors } = query
      const part = search.toLowerCase()
      const chosen = [...types(scope).values()].filter(
        ({ name, vendor }) => name.toLowerCase().includes(part) && (vendors?.includes(vendor) ?? true),
      )
      chosen.sort((a, b) => (a.name === b.name ? (a.id < b.id ? -1 : 1) : a.name < b.name ? -1 : 1))
      return page(chosen, query, (one) => one)
    },
  }),
  rows.get(`${PATH}/:finding_type_id`, {
    summary: 'Read a type of findings',
    result: FindingType,
    handle: ({ typed }, { scope, params }) => typed(scope, params.finding_type_id),
  }),
  rows.get(`${PATH}/:finding_type_id/remediation_types`, {
    summary: 'List the remediations of a type of findings: always empty, because nothing here changes assets',
    query: Type.Object({
      ...paging({ max: 100 }),
      cursor: Type.Optional(Type.String({ maxLength: 256 })),
      integration_id: Type.Optional(Type.String({ maxLength: 256 })),
    }),
    result: Type.Array(RemediationType),
    handle({ typed }, { scope, params, query }) {
      typed(scope, params.finding_type_id)
      return page<never, Static<typeof RemediationType>>([], query, (one) => one)
    },
  }),
])
