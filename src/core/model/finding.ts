import { Type, type Static } from 'typebox'
import { orNull, strict } from '../schema.js'
import { kind } from '../store.js'

export const SEVERITIES = ['Critical', 'High', 'Medium', 'Low'] as const

const Id = (description: string) =>
  Type.String({ minLength: 1, maxLength: 256, pattern: '^[\\x21-\\x7e]+$', description, 'x-message': ID_FAULT })
const ID_FAULT = 'must be 1 to 256 visible ASCII characters'
const Text = (maxLength: number, description?: string) =>
  Type.String({ maxLength, ...(description !== undefined && { description }) })
const Time = (description: string) => Type.String({ format: 'date-time', maxLength: 40, description })

/** Returns a time of a finding in milliseconds since 1970; `Date` supports neither leap seconds nor `+01`. */
export const timeOf = (time: string): number =>
  Date.parse(time.replace(/:60(?=[.zZ+-])/, ':59').replace(/[+-]\d\d$/, '$&:00'))

/** Category of a finding. Only Posture findings are ever sent. */
export const FindingCategory = Type.Object(
  {
    observation: Type.Enum(['Issue', 'Insight', 'Activity']),
    product: Type.Enum(['SaaS', 'Cloud']),
    type: Type.Enum(['Content', 'Posture']),
  },
  strict,
)

/** Instructions for resolving a finding. */
export const Remediation = Type.Object(
  {
    id: Type.Optional(Text(256)),
    frameworks: Type.Optional(Type.Array(Text(256), { maxItems: 100, description: 'Compliance frameworks.' })),
    guide: Type.Optional(Text(16_384)),
    impact: Type.Optional(Text(16_384)),
    locale: Type.Optional(Text(64)),
    threat: Type.Optional(Text(16_384)),
  },
  strict,
)

/** The account at a vendor in which a finding was detected. Further members are stored unchanged. */
export const Integration = Type.Object({
  id: Id('Identifier of the integration.'),
  name: Type.Optional(Text(512)),
  status: Type.Optional(Text(64)),
  vendor: Type.Optional(Type.Unknown({ description: 'The vendor: a name, or an object with one.' })),
})
export type Integration = Static<typeof Integration>

export const AssetCategory = Type.Object(
  {
    id: Type.Optional(Text(256)),
    vendor: Type.Optional(Text(256)),
    service: Type.Optional(orNull(Text(256))),
    type: Type.Optional(Text(256)),
  },
  strict,
)

export const Asset = Type.Object(
  {
    id: Type.Optional(Text(256)),
    external_id: Text(1024, 'Its identifier at the vendor.'),
    name: Text(1024),
    link: Type.Optional(orNull(Text(4096))),
    updated: Type.Optional(Time('When this state of the asset was read.')),
    category: Type.Optional(AssetCategory),
    fields: Type.Optional(
      Type.Array(Type.Object({ name: Text(256), value: Text(4096), link: Type.Optional(orNull(Text(4096))) }, strict), {
        maxItems: 100,
        description: 'Further facts about it.',
      }),
    ),
  },
  strict,
)
export type Asset = Static<typeof Asset>

/** A member that reads return and ingest ignores, so that a response can be sent back. */
const ReadOnly = () => Type.Optional(Type.Unknown({ description: 'Returned by reads, ignored here.' }))

/** Members of an instance that are computed on read. */
const INSTANCE_READ_ONLY = { remediations: ReadOnly(), webhooks: ReadOnly() }

/** Stored members of an instance. */
export const InstanceMembers = Type.Object(
  {
    id: Id('Identifier of the instance; one that is known is updated.'),
    affliction_date: Time('When this instance was identified.'),
    is_archived: Type.Optional(Type.Boolean({ description: 'Absent: as it is; false for a new one.' })),
    asset: Asset,
    dlp_contexts: Type.Optional(Type.Array(Type.Object({}), { maxItems: 100, description: 'Of content findings.' })),
  },
  strict,
)

/** One asset of a finding, as it is ingested. */
export const InstanceInput = Type.Object({ ...InstanceMembers.properties, ...INSTANCE_READ_ONLY }, strict)
export type InstanceInput = Static<typeof InstanceMembers>

/** Members of a finding that do not depend on where it was detected. */
const FindingFacts = {
  name: Type.String({ minLength: 1, maxLength: 512 }),
  description: Type.Optional(orNull(Text(16_384))),
  severity: Type.Enum([...SEVERITIES]),
  vendor: Type.String({ minLength: 1, maxLength: 256 }),
  category: FindingCategory,
  remediation: Type.Optional(orNull(Remediation)),
}

/** Maximum bytes of JSON of a finding without instances, and of each instance. A payload has one of each. */
export const MAX_FINDING_BYTES = 65_536

const TypeId = Id('Identifier of its type; policies are about types.')

const FindingId = Id('Identifier of the finding: of a finding type in an integration. One that is known is updated.')
const Instances = Type.Array(InstanceInput, { maxItems: 10_000 })

/** Members of a finding that other calls set or that are computed on read. */
const FINDING_READ_ONLY = {
  ignored: ReadOnly(),
  active_count: ReadOnly(),
  archived_count: ReadOnly(),
  instance_count: ReadOnly(),
  latest_affliction_date: ReadOnly(),
  severity_override: ReadOnly(),
}

/** A finding with its instances, as it is ingested. */
export const FindingInput = Type.Object(
  {
    id: FindingId,
    finding_type_id: TypeId,
    ...FindingFacts,
    integration: Integration,
    instances: Instances,
    ...FINDING_READ_ONLY,
  },
  strict,
)

/** A finding as reads return it, with its instances. */
export const FindingAsRead = Type.Object(
  {
    id: FindingId,
    finding: Type.Object({ id: TypeId, ...FindingFacts }, strict),
    integration: Integration,
    instances: Instances,
    ...FINDING_READ_ONLY,
  },
  strict,
)

/** Stored members of a finding. */
export const FindingMembers = Type.Object({
  id: FindingId,
  finding_type_id: TypeId,
  ...FindingFacts,
  integration: Integration,
})

/** Input of ingest, which is a finding and its instances. */
export type FindingInput = Static<typeof FindingMembers> & { readonly instances: readonly InstanceInput[] }

/** Converts a finding that fits {@link FindingInput} or {@link FindingAsRead}, without its read-only members. */
export function findingFrom(input: Static<typeof FindingInput> | Static<typeof FindingAsRead>): FindingInput {
  const { id, integration, instances } = input
  const { id: finding_type_id, ...facts } = 'finding' in input ? input.finding : { ...input, id: input.finding_type_id }
  const { name, description, severity, vendor, category, remediation } = facts
  return {
    id,
    finding_type_id,
    name,
    ...(description !== undefined && { description }),
    severity,
    vendor,
    category,
    ...(remediation !== undefined && { remediation }),
    integration,
    instances: instances.map(({ remediations: _remediations, webhooks: _webhooks, ...instance }) => instance),
  }
}

export type Severity = (typeof SEVERITIES)[number]

/** A stored finding. The scope is the account. */
export type StoredFinding = Omit<FindingInput, 'instances'> & {
  /** Ignored by a user. Absent means no. Policies still send its new instances. */
  readonly ignored?: boolean
  /** The severity that a user chose. The severity from the ingest stays beside it. */
  readonly severity_override?: { readonly severity: Severity; readonly created_by: string }
  readonly created_at: string
  readonly updated_at: string
}

/** Returns the severity that a user chose, or the one from the ingest. */
export const severityOf = ({ severity, severity_override: override }: StoredFinding): Severity =>
  override?.severity ?? severity

/** A stored instance. The scope is the account. */
export type StoredInstance = InstanceInput & {
  readonly is_archived: boolean
  readonly finding_id: string
  readonly created_at: string
  readonly updated_at: string
}

export const FINDINGS = kind<StoredFinding>('finding')
export const INSTANCES = kind<StoredInstance>('finding_instance')
