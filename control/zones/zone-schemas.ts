import { Type, type Static } from 'typebox'
import { ZONE_PLANS, ZONE_TYPES } from '../../src/core/model/zone.js'
import { orNull, strict } from '../../src/core/schema.js'
import { EdgedSource } from '../resources/file-source.js'

const named = Type.Object({ id: Type.String(), name: Type.String() })
const STATUSES = ['initializing', 'pending', 'active', 'moved'] as const

/** A zone as reads return it. */
export const ZoneResult = Type.Object({
  id: Type.String(),
  name: Type.String(),
  status: Type.Enum(['active', 'pending'], { description: 'pending: created through the API, and without an origin.' }),
  paused: Type.Boolean({ description: 'Requests pass to the origin without rules, conversion, cache and Workers.' }),
  type: Type.Enum([...ZONE_TYPES]),
  development_mode: Type.Integer(),
  name_servers: Type.Array(Type.String()),
  original_name_servers: Type.Null(),
  original_registrar: Type.Null(),
  original_dnshost: Type.Null(),
  created_on: Type.String(),
  modified_on: Type.String(),
  activated_on: orNull(Type.String()),
  account: named,
  owner: Type.Object({ id: Type.Null(), type: Type.String(), name: Type.Null() }),
  meta: Type.Object({ step: Type.Integer(), phishing_detected: Type.Boolean() }),
  plan: Type.Object({
    id: Type.String(),
    name: Type.String(),
    legacy_id: Type.String(),
    price: Type.Number(),
    currency: Type.String(),
    frequency: Type.String(),
    is_subscribed: Type.Boolean(),
    can_subscribe: Type.Boolean(),
    legacy_discount: Type.Boolean(),
    externally_managed: Type.Boolean(),
  }),
  permissions: Type.Array(Type.String(), { description: 'What the caller may do in the zone.' }),
  vanity_name_servers: Type.Optional(Type.Array(Type.String())),
  edged_source: EdgedSource,
  edged: Type.Object(
    {
      source: Type.Enum(['file', 'api'], { description: 'Where the zone is defined.' }),
      origin: Type.Optional(orNull(Type.String({ description: 'Of a zone created through the API.' }))),
    },
    { description: 'Members of this server, which the public API does not have.' },
  ),
})
export type ZoneResult = Static<typeof ZoneResult>

const Origin = Type.String({
  maxLength: 300,
  pattern: '^https?://[^\\s/?#@\\\\]+/?$',
  description: 'http or https URL without a path. The address must be public, or allowed by egress.allow_cidrs.',
  'x-message': 'must be http://host:port or https://host:port',
})
const Plan = Type.Enum([...ZONE_PLANS], { description: 'Default: pro. Free zones have no Markdown conversion.' })

const state = {
  type: Type.Optional(Type.Enum([...ZONE_TYPES], { description: 'Stored, without effect here.' })),
}

/** Members of a new zone. */
export const ZoneInput = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 253, description: 'It and all names below it are served.' }),
    account: Type.Object({ id: Type.String({ pattern: '^[0-9a-f]{32}$' }) }, strict),
    ...state,
    jump_start: Type.Optional(Type.Boolean({ description: 'Without effect: there are no DNS records to import.' })),
    edged: Type.Optional(
      Type.Object({ origin: Type.Optional(orNull(Origin)), plan: Type.Optional(Plan) }, { ...strict }),
    ),
  },
  strict,
)
export type ZoneInput = Static<typeof ZoneInput>

/** Members of a zone that can be changed. */
export const ZoneChange = Type.Object(
  {
    paused: Type.Optional(Type.Boolean()),
    ...state,
    vanity_name_servers: Type.Optional(
      Type.Array(Type.String({ maxLength: 253 }), { maxItems: 32, description: 'Stored, without effect here.' }),
    ),
    edged: ZoneInput.properties.edged,
  },
  strict,
)
export type ZoneChange = Static<typeof ZoneChange>

const NAME_FILTER =
  'Domain name; `equal:`, `not_equal:`, `contains:`, `starts_with:` or `ends_with:` can precede it, the last three also ' +
  'as `contains_case_sensitive:` and so on.'

/** Filters of the list. */
export const ZoneFilters = {
  name: Type.Optional(Type.String({ maxLength: 1000, description: NAME_FILTER })),
  'account.id': Type.Optional(Type.String({ maxLength: 32 })),
  'account.name': Type.Optional(Type.String({ maxLength: 253, description: 'As `name`.' })),
  status: Type.Optional(Type.Enum([...STATUSES])),
  type: Type.Optional(Type.Array(Type.Enum([...ZONE_TYPES]))),
  match: Type.Enum(['any', 'all'], { default: 'all', description: 'Whether all filters or any of them must match.' }),
  order: Type.Optional(Type.Enum(['name', 'status', 'account.id', 'account.name', 'plan.id'])),
  direction: Type.Enum(['asc', 'desc'], { default: 'asc' }),
}
