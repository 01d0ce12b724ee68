import { Type } from 'typebox'
import { strict } from '../../core/schema.js'
import { action } from '../action.js'
import { MANAGED_REQUEST_PHASES } from './phase-groups.js'
import { HexId, NotEmpty, repeats, Whole } from './shared.js'

const Changes = {
  action: Type.Optional(Type.String({ pattern: '^[a-z_]{1,64}$', description: 'Taken in place of the own action.' })),
  enabled: Type.Optional(Type.Boolean()),
  sensitivity_level: Type.Optional(
    Type.Enum(['default', 'medium', 'low', 'eoff'], { description: 'For DDoS protection.' }),
  ),
}

const CategoryOverride = Type.Object({ category: Type.String({ minLength: 1, maxLength: 256 }), ...Changes }, strict)
const RuleOverride = Type.Object(
  { id: HexId('Identifier of a rule.'), ...Changes, score_threshold: Type.Optional(Whole(0, 'For rules that score.')) },
  strict,
)

const Overrides = NotEmpty({
  ...Changes,
  categories: Type.Optional(
    Type.Array(CategoryOverride, {
      minItems: 1,
      maxItems: 1000,
      description: 'Of several that fit, the last one wins.',
    }),
  ),
  rules: Type.Optional(Type.Array(RuleOverride, { minItems: 1, maxItems: 1000 })),
})

/** Reports overrides that contain only their target, because they change nothing. */
const idle = (at: string, items: readonly object[]) =>
  items.flatMap((item, index) =>
    Object.keys(item).length > 1
      ? []
      : [{ pointer: `${at}/${index}`, message: 'must change something: action, enabled or sensitivity_level' }],
  )

/** `eoff` switches rules off. Nothing here measures how sensitive a rule is. */
const isInertLevel = (level: string | undefined): boolean => level === 'low' || level === 'medium'

export const execute = action({
  name: 'execute',
  summary: 'Runs the rules of another ruleset of the same phase, and continues if none of them ends the request.',
  phases: [...MANAGED_REQUEST_PHASES, 'http_response_firewall_managed'],

  params: Type.Object(
    {
      id: HexId('The ruleset that runs: a custom or managed one of the same phase.'),
      overrides: Type.Optional(Overrides),
      matched_data: Type.Optional(
        Type.Object(
          {
            public_key: Type.String({
              minLength: 1,
              maxLength: 1024,
              description: 'Matches are logged, sealed for it.',
            }),
          },
          strict,
        ),
      ),
    },
    strict,
  ),

  check: ({ overrides: { categories = [], rules = [] } = {} }) => [
    ...idle('/overrides/categories', categories),
    ...repeats('/overrides/categories', categories, ({ category }: { category: string }) => category, 'category'),
    ...idle('/overrides/rules', rules),
    ...repeats('/overrides/rules', rules, ({ id }: { id: string }) => id, 'id'),
  ],

  inert: ({ matched_data, overrides: { sensitivity_level, categories = [], rules = [] } = {} }) => [
    ...(matched_data ? ['/matched_data'] : []),
    ...(isInertLevel(sensitivity_level) ? ['/overrides/sensitivity_level'] : []),
    ...Object.entries({ categories, rules }).flatMap(([name, list]) =>
      list.flatMap((one, index) =>
        isInertLevel(one.sensitivity_level) ? [`/overrides/${name}/${index}/sensitivity_level`] : [],
      ),
    ),
  ],

  prepare: (params) => (run) => run.execute(params),

  examples: [
    { phase: 'http_request_firewall_managed', params: { id: '4814384a9e5d4991b9815dcfc25d2f1f' } },
    {
      phase: 'http_request_firewall_managed',
      params: {
        id: '4814384a9e5d4991b9815dcfc25d2f1f',
        matched_data: { public_key: 'iGqBmyIUxuWt1rvxoAharN9FUXneUBxA/Y19PyyrEG0=' },
        overrides: {
          action: 'log',
          enabled: true,
          sensitivity_level: 'medium',
          categories: [{ category: 'sqli', action: 'block', enabled: true, sensitivity_level: 'low' }],
          rules: [{ id: '8ac8bc2a661e475d940980f9317f28e1', score_threshold: 60 }],
        },
      },
    },
  ],
})
