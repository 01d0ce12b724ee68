import { Type, type Static } from 'typebox'
import { RULESET_KINDS, type Ruleset, type RulesetVersion } from '../../src/core/model/ruleset.js'
import { strict } from '../../src/core/schema.js'
import { PHASES } from '../../src/rules/phases.js'
import { AnyRule } from '../../src/rules/rulesets/rule-input.js'

/** Checked one by one, so that a long list of invalid rules is no slower than a short one. */
const Rules = Type.Optional(Type.Array(AnyRule, { description: 'In the order in which they run. Default: none.' }))

const Name = Type.String({
  minLength: 1,
  description: 'For people. Cannot be changed; a put of an existing entry point ignores it.',
})
const Description = Type.Optional(Type.String({ description: 'Default: empty.' }))
const Kind = Type.Enum([...RULESET_KINDS], {
  description: 'root and zone are the entry points of accounts and zones; the others run through execute rules.',
})
const Phase = Type.Enum(PHASES.map(({ name }) => name))

const ReadOnly = {
  id: Type.Optional(Type.String({ description: 'As it is.' })),
  version: Type.Optional(Type.String({ description: 'Ignored.' })),
  last_updated: Type.Optional(Type.String({ description: 'Ignored.' })),
}

export const NewRuleset = Type.Object(
  { name: Name, kind: Kind, phase: Phase, description: Description, rules: Rules },
  strict,
)

/** A ruleset that replaces the old one. Members that cannot change can be sent unchanged. */
export const RulesetChange = Type.Object(
  {
    ...ReadOnly,
    name: Type.Optional(Name),
    kind: Type.Optional(Kind),
    phase: Type.Optional(Phase),
    description: Description,
    rules: Rules,
  },
  strict,
)
export type RulesetChange = Static<typeof RulesetChange>

/** Query of a write that is validated but stores nothing. */
export const DryRun = Type.Object({
  dry_run: Type.Optional(Type.Boolean({ description: 'Checks everything and stores nothing; the result is null.' })),
})

export const ListQuery = Type.Object({
  cursor: Type.Optional(Type.String({ maxLength: 200, description: 'Of the page before, from its result_info.' })),
  per_page: Type.Integer({ minimum: 1, maximum: 1000, default: 50 }),
})

const summary = {
  id: Type.String(),
  name: Type.String(),
  description: Type.String(),
  kind: Kind,
  version: Type.String({ description: 'Counts the writes, from 1.' }),
  last_updated: Type.String({ description: 'UTC, with six digits of the second.' }),
  phase: Phase,
}

export type RulesetSummary = Omit<Ruleset, 'rules'>
export const RulesetSummary = Type.Unsafe<RulesetSummary>(Type.Object(summary))

const Source = Type.Object(
  { file: Type.String(), line: Type.Integer() },
  {
    description:
      'Our own addition: where the rules are, if they are in the configuration file. Each rule has one, too.',
  },
)

export const RulesetResult = Type.Unsafe<Ruleset>(
  Type.Object({ ...summary, rules: Type.Array(AnyRule), edged_source: Type.Optional(Source) }),
)

/** The result of a write: the current ruleset; null for a dry run. */
export const WrittenRuleset = Type.Unsafe<Ruleset | null>(RulesetResult)

/** Returns a version of a ruleset without its rules. */
export const summaryOf = (
  { id, name, kind, phase }: Ruleset,
  { version, last_updated, description }: RulesetVersion,
): RulesetSummary => ({ id, name, description, kind, version, last_updated, phase })
