/** One comparison of a form: a field, an operator and a value. */
export interface Condition {
  readonly kind: 'condition'
  readonly field: string
  /** The key of a map, such as the name of a header field. Null for fields without keys. */
  readonly key: string | null
  /** One of the values of a list has to fit, or each. Null: the first one, or the field has one value. */
  readonly quantifier: 'any' | 'all' | null
  /** The change of the field before the comparison, for example `lower`. */
  readonly transform: string | null
  /** With a leading `!` the comparison is negated. */
  readonly operator: string
  /** A list for operators whose input is `values`, null for those without a value. */
  readonly value: string | readonly string[] | null
}

/** A part that the form cannot show. It is edited as text. */
export interface TextItem {
  readonly kind: 'text'
  readonly text: string
}

export type Item = Condition | TextItem

/** Groups of which one has to fit. Every item of a group has to fit. */
export type Groups = readonly (readonly Item[])[]

export interface BuilderOperator {
  readonly name: string
  /** As people read it: `is not one of`. */
  readonly label: string
  readonly input: 'text' | 'number' | 'values' | 'list' | 'none'
  readonly hint?: string
}

export interface BuilderField {
  readonly name: string
  /** As people read it: `URI path`. */
  readonly label: string
  /** Heading in the list of fields. */
  readonly group?: string
  readonly hint?: string
  readonly operators: readonly BuilderOperator[]
  /** The field is a map, whose keys are chosen first: label of the key. */
  readonly key?: string
  /** The field has many values. */
  readonly isMany?: boolean
  /** Values to choose from, or to write another one. */
  readonly suggestions?: readonly string[]
}

/** Returns a condition of a field without a value yet. */
export const emptyCondition = (field: BuilderField): Condition => ({
  kind: 'condition',
  field: field.name,
  key: field.key === undefined ? null : '',
  quantifier: field.isMany ? 'any' : null,
  transform: null,
  ...withOperator(field.operators[0]!, ''),
})

/** Returns the operator with a value of its shape. The text that was there stays. */
export function withOperator(
  { name, input }: BuilderOperator,
  last: Condition['value'],
): Pick<Condition, 'operator' | 'value'> {
  if (input === 'none') return { operator: name, value: null }
  const texts = last === null ? [] : typeof last === 'string' ? [last] : last
  if (input === 'values') return { operator: name, value: texts }
  return { operator: name, value: texts[0] ?? '' }
}

const replaced = <T>(items: readonly T[], at: number, item: T | undefined): T[] =>
  items.flatMap((one, index) => (index === at ? (item === undefined ? [] : [item]) : [one]))

/** Returns groups with one item changed, or removed if it is undefined. Empty groups are left out. */
export const withItem = (groups: Groups, group: number, at: number, item: Item | undefined): Groups =>
  replaced(groups, group, replaced(groups[group] ?? [], at, item)).filter((items) => items.length > 0)

/** Returns groups with one more item at the end of a group. */
export const withMore = (groups: Groups, group: number, item: Item): Groups =>
  replaced(groups, group, [...(groups[group] ?? []), item])

/** Whether a condition still has no value, as right after it was added. */
export const isUnfinished = (groups: Groups): boolean =>
  groups.some((items) => items.some((item) => item.kind === 'condition' && item.value?.length === 0))
