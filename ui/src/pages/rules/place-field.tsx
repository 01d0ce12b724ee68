import { Row, SelectField, type Option } from '../../parts/fields.tsx'
import { nameOf, type Params, type Rule } from './rule.ts'

/** Where a rule goes. `stay`: where it is, or last for a new one. */
export interface PlaceChoice {
  readonly kind: 'stay' | 'first' | 'last' | 'before' | 'after'
  readonly rule: string
}

/** Returns the `position` of a request. Undefined: the rule stays where it is, or becomes the last one. */
export function positionOf({ kind, rule }: PlaceChoice): Params | undefined {
  if (kind === 'stay') return undefined
  if (kind === 'first') return { before: '' }
  if (kind === 'last') return { after: '' }
  return { [kind]: rule }
}

/** First, last, before or after another rule. */
export function PlaceField({
  value,
  rules,
  isNew,
  onChange,
}: {
  value: PlaceChoice
  /** The other rules in their order. */
  rules: readonly Rule[]
  isNew: boolean
  onChange: (value: PlaceChoice) => void
}) {
  const kinds: Option[] = [
    ...(isNew ? [] : [['stay', 'Where it is'] as const]),
    ['first', 'First'],
    ['last', 'Last'],
    ...(rules.length > 0 ? [['before', 'Before…'] as const, ['after', 'After…'] as const] : []),
  ]
  const needsRule = value.kind === 'before' || value.kind === 'after'
  return (
    <Row>
      <SelectField
        label="Place"
        value={value.kind}
        options={kinds}
        onChange={(kind) => onChange({ kind: kind as PlaceChoice['kind'], rule: value.rule || (rules[0]?.id ?? '') })}
      />
      {needsRule && (
        <SelectField
          label="Rule"
          value={value.rule}
          options={rules.map((rule, at) => [rule.id, `${at + 1}. ${nameOf(rule, at)}`])}
          onChange={(rule) => onChange({ ...value, rule })}
        />
      )}
    </Row>
  )
}
