import { Type, type Static, type TProperties } from 'typebox'
import { Expression, HexId } from '../actions/shared.js'
import { ACTIONS } from '../actions/index.js'
import { checkedByHand, strict, variants } from '../../core/schema.js'

const DAY = 86_400

/** `ratelimit` of a rule in a request. */
export const RateLimitInput = Type.Object(
  {
    characteristics: Type.Array(Type.String({ minLength: 1, maxLength: 1024 }), {
      minItems: 1,
      maxItems: 32,
      description:
        'Expressions whose values separate the counters: ip.src, http.request.headers["x-key"], any expression with a value.',
    }),
    period: Type.Integer({ minimum: 1, maximum: DAY, description: 'Seconds over which requests are counted.' }),
    requests_per_period: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1, description: 'The action is taken beyond this many requests.' }),
    ),
    score_per_period: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 2 ** 31 - 1,
        description: 'The action is taken beyond this total of scores.',
      }),
    ),
    score_response_header_name: Type.Optional(
      Type.String({
        maxLength: 256,
        pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",
        description: 'The header of the response that holds its score.',
        'x-message': 'must be the name of a header',
      }),
    ),
    counting_expression: Type.Optional(
      Type.String({ description: "Requests to count. If empty or absent, the rule's expression." }),
    ),
    mitigation_timeout: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: DAY,
        description: 'Seconds that the action lasts once begun. 0, the default: while the count is over the threshold.',
      }),
    ),
    requests_to_origin: Type.Optional(
      Type.Boolean({ description: 'Only requests that reach the origin count. Default: false.' }),
    ),
  },
  strict,
)
export type RateLimitInput = Static<typeof RateLimitInput>

const common = {
  id: Type.Optional(HexId('Set by the service; sent to say which rule of the ruleset this is.')),
  ref: Type.Optional(
    Type.String({ minLength: 1, maxLength: 1024, description: 'A name that stays. Default: the id.' }),
  ),
  version: Type.Optional(Type.String({ description: 'Set by the service; ignored.' })),
  last_updated: Type.Optional(Type.String({ description: 'Set by the service; ignored.' })),
  expression: Expression('Requests that match.'),
  description: Type.Optional(Type.String({ maxLength: 500, description: 'Default: empty.' })),
  enabled: Type.Optional(Type.Boolean({ description: 'Default: true.' })),
  categories: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
      minItems: 1,
      maxItems: 100,
      description: 'For rules of managed rulesets.',
    }),
  ),
  logging: Type.Optional(
    Type.Object({ enabled: Type.Boolean() }, { ...strict, description: 'Whether matches are logged.' }),
  ),
  ratelimit: Type.Optional(RateLimitInput),
  exposed_credential_check: Type.Optional(
    Type.Object(
      {
        username_expression: Expression('Gives the name.'),
        password_expression: Expression('Gives the password.'),
      },
      strict,
    ),
  ),
}

/** A rule in a request. Its action checks `action_parameters`. */
export const RuleInput = Type.Object(
  {
    action: Type.Enum([...ACTIONS.keys()]),
    action_parameters: Type.Optional(Type.Object({}, { description: 'Depends on the action.' })),
    ...common,
  },
  strict,
)
export type RuleInput = Static<typeof RuleInput> & { readonly action_parameters?: Readonly<Record<string, unknown>> }

const RuleOrEnd = Type.String({
  pattern: '^([0-9a-f]{32})?$',
  'x-message': 'must be the id of a rule, or empty',
})

/** Position of a rule, before or after another one (empty: first, last), or at an index counted from 1. */
export const Position = Type.Object(
  {
    before: Type.Optional(RuleOrEnd),
    after: Type.Optional(RuleOrEnd),
    index: Type.Optional(Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 })),
  },
  { ...strict, minProperties: 1, maxProperties: 1, 'x-message': 'must have one of before, after and index' },
)
export type Position = Static<typeof Position>

/** Returns every shape of a rule, one for each action, with further members. */
const shapes = (further: TProperties) =>
  variants(
    'action',
    [...ACTIONS.values()].map(({ name, summary, params, optional }) =>
      Type.Object(
        {
          action: Type.Literal(name),
          action_parameters: optional ? Type.Optional(params) : params,
          ...common,
          ...further,
        },
        { ...strict, description: summary },
      ),
    ),
  )

/** A rule, for the manual. */
export const AnyRule = checkedByHand('Rule', shapes({}))

/** A rule and its position, for the manual. */
export const PlacedRule = checkedByHand('PlacedRule', shapes({ position: Type.Optional(Position) }))

/** Some members of a rule, and its position, for the manual. */
export const RulePatch = checkedByHand(
  'RulePatch',
  Type.Object({ ...Type.Partial(RuleInput).properties, position: Type.Optional(Position) }, strict),
)
