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
const OnDate = Type.Object(
  {
    type: Type.Literal('Date'),
    date: Type.String({
      pattern: '^\\d{4}-\\d\\d-\\d\\d(?:T[0-9:.]{5,18}(?:Z|[+-]\\d\\d:\\d\\d))?$',
      'x-message': 'must be a date, as in 2027-01-31, or a date with a time, as in 2027-01-31T00:00:00Z',
    }),
  },
  strict,
)
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

/** The lifecycle rules of a bucket. The scope is the account. The id is `bucketId`. */
export const R2_LIFECYCLES = kind<{ rules: LifecycleRule[] }>('r2_lifecycle')

/** The CORS policy of a bucket. The scope is the account. The id is `bucketId`. */
export const R2_CORS = kind<{ rules: Static<typeof CorsRules> }>('r2_cors')
