import { Type, type Static } from 'typebox'
import { TokenCondition, TokenResources } from '../../src/core/model/token.js'
import { strict } from '../../src/core/schema.js'
import { EdgedSource } from '../resources/file-source.js'

const time = Type.String({ format: 'date-time' })

const PolicyInput = Type.Object(
  {
    id: Type.Optional(Type.String({ maxLength: 36 })),
    effect: Type.Enum(['allow', 'deny']),
    permission_groups: Type.Array(
      Type.Object(
        {
          id: Type.Optional(Type.String({ maxLength: 36, description: 'As listed by permission_groups.' })),
          name: Type.Optional(Type.String({ maxLength: 120, description: 'Instead of the id, or beside it.' })),
          meta: Type.Optional(Type.Object({})),
        },
        strict,
      ),
      { minItems: 1, maxItems: 300 },
    ),
    resources: TokenResources,
  },
  strict,
)

/** Members of a new token. */
export const CreateInput = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 120 }),
    policies: Type.Array(PolicyInput, { minItems: 1, maxItems: 50 }),
    not_before: Type.Optional(time),
    expires_on: Type.Optional(time),
    condition: Type.Optional(TokenCondition),
  },
  strict,
)

export type CreateInput = Static<typeof CreateInput>

/** Members that replace members of a token. */
export const UpdateInput = Type.Object(
  { ...CreateInput.properties, status: Type.Optional(Type.Enum(['active', 'disabled'])) },
  strict,
)

/** A token without its secret. */
export const TokenResult = Type.Object({
  id: Type.String(),
  name: Type.String(),
  status: Type.Enum(['active', 'disabled', 'expired']),
  issued_on: time,
  modified_on: time,
  not_before: Type.Optional(time),
  expires_on: Type.Optional(time),
  condition: Type.Optional(TokenCondition),
  policies: Type.Array(
    Type.Object({
      id: Type.String(),
      effect: Type.Enum(['allow', 'deny']),
      permission_groups: Type.Array(Type.Object({ id: Type.String(), name: Type.String() })),
      resources: TokenResources,
    }),
  ),
  edged_source: EdgedSource,
})

/** A stored token as it is read. */
export const ReadResult = Type.Object({
  ...TokenResult.properties,
  last_used_on: Type.Optional({ ...time, description: 'To within five minutes. Absent: never.' }),
})

export type TokenResult = Static<typeof TokenResult>

/** A token that was just created, with its secret. */
export const CreatedResult = Type.Object({
  ...TokenResult.properties,
  value: Type.String({ description: 'The token itself. It is shown only once.' }),
})
