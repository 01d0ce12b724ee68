import { Type } from 'typebox'
import { Asset, FindingMembers, InstanceMembers, Integration, SEVERITIES } from '../../src/core/model/finding.js'
import { DELIVERY_STATUSES } from '../../src/core/model/delivery.js'
import { paging } from '../http/paging.js'

const { name, description, severity, vendor, category, remediation } = FindingMembers.properties

export const FindingResult = Type.Object({
  id: Type.String(),
  finding: Type.Object({
    id: Type.String({ description: 'Finding type, as policies name it.' }),
    name,
    description,
    severity,
    vendor,
    category,
    remediation,
  }),
  integration: Integration,
  ignored: Type.Boolean(),
  active_count: Type.Integer({ description: 'Instances that are not archived.' }),
  archived_count: Type.Integer(),
  instance_count: Type.Integer(),
  latest_affliction_date: Type.String({ description: 'Of the active instances; empty if none is active.' }),
  severity_override: Type.Optional(
    Type.Object(
      { severity: Type.Enum([...SEVERITIES]), created_by: Type.String() },
      { description: 'The severity that a user chose. Lists are filtered and sorted by it.' },
    ),
  ),
})

export const NewSeverity = Type.Object(
  { new_severity: Type.Integer({ minimum: 1, maximum: 4, description: '1: Critical, 2: High, 3: Medium, 4: Low.' }) },
  { additionalProperties: false },
)

export const InstanceResult = Type.Object({
  id: Type.String(),
  affliction_date: Type.String(),
  is_archived: Type.Boolean(),
  asset: Asset,
  dlp_contexts: Type.Array(Type.Object({})),
  remediations: Type.Array(Type.Object({}), { description: 'Always empty: edged remediates nothing.' }),
  webhooks: Type.Array(
    Type.Object({
      webhook_id: Type.String(),
      webhook_label: Type.String(),
      latest_job: Type.Object({
        id: Type.String(),
        created_at: Type.String(),
        stale: Type.Boolean({ description: 'Created before the affliction date.' }),
        status: Type.Enum([...DELIVERY_STATUSES]),
      }),
    }),
    { description: 'The newest job of each webhook.' },
  ),
})

const Times = {
  min_affliction_date: Type.Optional(Type.String({ format: 'date-time' })),
  max_affliction_date: Type.Optional(Type.String({ format: 'date-time' })),
}
const Direction = Type.Enum(['asc', 'desc'], { default: 'desc' })
const Search = Type.Optional(Type.String({ maxLength: 256, description: 'Part of a name, case-insensitive.' }))

export const FindingQuery = Type.Object({
  ...paging({ max: 100 }),
  ...Times,
  finding_type_ids: Type.Optional(Type.Array(Type.String({ maxLength: 256 }), { maxItems: 100 })),
  integration_id: Type.Optional(Type.String({ maxLength: 256 })),
  ignored: Type.Optional(Type.Boolean()),
  severity: Type.Optional(Type.Enum([...SEVERITIES])),
  type: Type.Optional(Type.Enum(['Content', 'Posture'])),
  observation: Type.Optional(Type.Enum(['Issue', 'Insight', 'Activity'])),
  product: Type.Optional(Type.Enum(['Cloud', 'SaaS', 'Saas'])),
  vendor: Type.Optional(Type.String({ maxLength: 256 })),
  search: Search,
  order: Type.Enum(['finding.name', 'instance_count', 'integration.name', 'latest_affliction_date', 'severity'], {
    default: 'latest_affliction_date',
  }),
  direction: Direction,
})

export const InstanceQuery = Type.Object({
  ...paging({ max: 100 }),
  ...Times,
  archived: Type.Optional(Type.Boolean()),
  asset_ids: Type.Optional(Type.Array(Type.String({ maxLength: 256 }), { maxItems: 100 })),
  finding_instance_ids: Type.Optional(Type.Array(Type.String({ maxLength: 256 }), { maxItems: 100 })),
  search: Search,
  order: Type.Enum(['affliction_date', 'asset.name'], { default: 'affliction_date' }),
  direction: Direction,
})

const Ids = Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { minItems: 1, maxItems: 1000 })

export const ChosenInstances = Type.Object(
  { check_instances: Type.Array(InstanceMembers.properties.id, { minItems: 1, maxItems: 1000 }) },
  { additionalProperties: false },
)

export const ChosenFindings = Type.Object({ checks: Ids }, { additionalProperties: false })
