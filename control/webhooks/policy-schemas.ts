import { Type } from 'typebox'
import { FindingMembers, Integration } from '../../src/core/model/finding.js'
import { strict } from '../../src/core/schema.js'

const Id = Type.String({ minLength: 1, maxLength: 256 })

const Actions = Type.Object(
  {
    webhook_configs: Type.Optional(
      Type.Array(Type.Object({ webhook_config_id: Id }, strict), {
        maxItems: 100,
        description: 'Webhooks that each new instance is sent to, once.',
      }),
    ),
    remediation_types: Type.Optional(
      Type.Array(Type.Object({ remediation_type_id: Id }, strict), {
        maxItems: 1,
        description: 'edged remediates nothing, so every type is rejected.',
      }),
    ),
  },
  { ...strict, description: 'At least one action.' },
)

const Changeable = {
  display_name: Type.String({ minLength: 1, maxLength: 255 }),
  description: Type.Optional(Type.String({ maxLength: 1000, description: 'Default: empty.' })),
  enabled: Type.Boolean(),
  applies_to_all_integrations: Type.Boolean(),
  integration_ids: Type.Optional(
    Type.Array(Integration.properties.id, {
      maxItems: 1000,
      description: 'Required if the policy does not apply to all integrations.',
    }),
  ),
  actions: Actions,
}

const FindingTypeId = FindingMembers.properties.finding_type_id

export const NewPolicy = Type.Object({ ...Changeable, finding_type_id: FindingTypeId }, strict)

export const PolicyChange = Type.Object(
  { ...Changeable, finding_type_id: Type.Optional(Type.String({ description: 'Must equal the stored one.' })) },
  strict,
)

export const PolicyResult = Type.Object({
  id: Type.String(),
  display_name: Type.String(),
  description: Type.String(),
  enabled: Type.Boolean(),
  finding_type_id: Type.String(),
  applies_to_all_integrations: Type.Boolean(),
  integration_ids: Type.Array(Type.String()),
  actions: Type.Object({
    webhook_configs: Type.Array(Type.Object({ webhook_config_id: Type.String(), display_name: Type.String() }, strict)),
    remediation_types: Type.Array(Type.Object({})),
  }),
  created_at: Type.String(),
  updated_at: Type.String(),
  disabled_at: Type.Optional(Type.String({ description: 'Absent if the policy is enabled.' })),
  last_triggered_at: Type.Optional(Type.String({ description: 'When it last sent an instance.' })),
})

export const PolicyQuery = Type.Object({
  cursor: Type.Optional(Type.String({ maxLength: 200, description: 'From `result_info` of the previous page.' })),
  per_page: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
})
