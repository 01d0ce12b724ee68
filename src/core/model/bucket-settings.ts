import { Type, type Static } from 'typebox'
import { strict, variants } from '../schema.js'
import { kind } from '../store.js'

const MAX_LIFECYCLE_RULES = 1000
const MAX_CORS_RULES = 100
/** A hundred years. */
const MAX_AGE = 3_153_600_000

const Age = Type.Object(
  { type: Type.Literal('Age'), maxAge: Type.Integer({ minimum: 0, maximum: MAX_AGE, description: 'Seconds.' }) },
  strict,
)
const DateText = Type.String({
  pattern: '^\\d{4}-\\d\\d-\\d\\d(?:T[0-9:.]{5,18}(?:Z|[+-]\\d\\d:\\d\\d))?$',
  'x-message': 'must be a date, as in 2027-01-31, or a date with a time, as in 2027-01-31T00:00:00Z',
})
const OnDate = Type.Object({ type: Type.Literal('Date'), date: DateText }, strict)
/** When a lifecycle rule acts: some seconds after the upload, or on a date. */
const Condition = variants('type', [Age, OnDate])
export type LifecycleCondition = Static<typeof Condition>

/** A rule that deletes objects of a bucket, changes their storage class, or ends uploads in parts. */
const LifecycleRule = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: 255 }),
    enabled: Type.Boolean(),
    conditions: Type.Object(
      { prefix: Type.Optional(Type.String({ maxLength: 1024, description: 'Of keys. Default: all keys.' })) },
      strict,
    ),
    deleteObjectsTransition: Type.Optional(Type.Object({ condition: Type.Optional(Condition) }, strict)),
    storageClassTransitions: Type.Optional(
      Type.Array(Type.Object({ condition: Condition, storageClass: Type.Literal('InfrequentAccess') }, strict), {
        maxItems: 10,
      }),
    ),
    abortMultipartUploadsTransition: Type.Optional(Type.Object({ condition: Type.Optional(Age) }, strict)),
  },
  strict,
)
export type LifecycleRule = Static<typeof LifecycleRule>
export const LifecycleRules = Type.Array(LifecycleRule, { maxItems: MAX_LIFECYCLE_RULES })

const Names = Type.Array(Type.String({ minLength: 1, maxLength: 1024 }), { maxItems: 100 })
export const CorsRules = Type.Array(
  Type.Object(
    {
      id: Type.Optional(Type.String({ maxLength: 255 })),
      allowed: Type.Object(
        {
          methods: Type.Array(Type.Enum(['GET', 'PUT', 'POST', 'DELETE', 'HEAD']), { minItems: 1, maxItems: 5 }),
          origins: Type.Array(Type.String({ minLength: 1, maxLength: 1024 }), { minItems: 1, maxItems: 100 }),
          headers: Type.Optional(Names),
        },
        strict,
      ),
      exposeHeaders: Type.Optional(Names),
      maxAgeSeconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 86_400 })),
    },
    strict,
  ),
  { maxItems: MAX_CORS_RULES },
)

/** Until when a lock rule keeps objects: some seconds after the upload, until a date, or always. */
const LockCondition = variants('type', [
  Type.Object(
    {
      type: Type.Literal('Age'),
      maxAgeSeconds: Type.Integer({ minimum: 0, maximum: MAX_AGE, description: 'Seconds.' }),
    },
    strict,
  ),
  OnDate,
  Type.Object({ type: Type.Literal('Indefinite') }, strict),
])
export const LockRules = Type.Array(
  Type.Object(
    {
      id: Type.String({ minLength: 1, maxLength: 255 }),
      enabled: Type.Boolean(),
      prefix: Type.Optional(Type.String({ maxLength: 1024, description: 'Of keys. Default: all keys.' })),
      condition: LockCondition,
    },
    strict,
  ),
  { maxItems: MAX_LIFECYCLE_RULES },
)
export type LockRule = Static<typeof LockRules>[number]

const TlsVersion = Type.Enum(['1.0', '1.1', '1.2', '1.3'])
/** Members of a custom domain that can be changed. */
export const DomainOptions = {
  minTLS: Type.Optional(TlsVersion),
  ciphers: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { maxItems: 64 })),
}

/** A host name under which a bucket is to be public. */
export interface BucketDomain {
  domain: string
  enabled: boolean
  zoneId: string
  zoneName?: string
  minTLS?: '1.0' | '1.1' | '1.2' | '1.3'
  ciphers?: string[]
}

/** The lock rules of a bucket. The scope is the account. The id is `bucketId`. */
export const R2_LOCKS = kind<{ rules: LockRule[] }>('r2_lock')

/** The domains of a bucket. The scope is the account. The id is `bucketId`. */
export const R2_DOMAINS = kind<{ managed: boolean; custom: BucketDomain[] }>('r2_domains')

/** The lifecycle rules of a bucket. The scope is the account. The id is `bucketId`. */
export const R2_LIFECYCLES = kind<{ rules: LifecycleRule[] }>('r2_lifecycle')

/** The CORS policy of a bucket. The scope is the account. The id is `bucketId`. */
export const R2_CORS = kind<{ rules: Static<typeof CorsRules> }>('r2_cors')
