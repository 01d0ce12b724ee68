import { Fragment, useMemo } from 'react'
import { Button, IconButton } from '../button.tsx'
import { SelectField, TextArea, TextField, type Option } from '../fields.tsx'
import styles from './builder.module.css'
import {
  emptyCondition,
  withItem,
  withMore,
  withOperator,
  type BuilderField,
  type BuilderOperator,
  type Condition,
  type Groups,
  type Item,
} from './model.ts'

interface Choices {
  readonly fields: readonly BuilderField[]
  /** Names of lists for operators whose input is `list`. */
  readonly lists?: readonly string[]
  /** Changes of a text before it is compared. */
  readonly transforms?: readonly Option[]
}

/** A form for conditions: rows that all have to fit, in groups of which one has to fit. */
export function Builder({
  groups,
  onChange,
  label,
  canOr = true,
  ...choices
}: Choices & { groups: Groups; onChange: (groups: Groups) => void; label: string; canOr?: boolean }) {
  const first = choices.fields[0]
  if (!first) return null
  const shown = groups.length === 0 ? [[emptyCondition(first)]] : groups
  return (
    <div className={styles['groups']} role="group" aria-label={label}>
      {shown.map((items, group) => (
        <Fragment key={group}>
          {group > 0 && <span className={styles['word']}>or</span>}
          <div className={styles['group']}>
            {items.map((item, at) => (
              <Fragment key={at}>
                {at > 0 && <span className={styles['word']}>and</span>}
                <ItemRow
                  item={item}
                  {...choices}
                  onChange={(next) => onChange(withItem(shown, group, at, next))}
                  isOnly={shown.length === 1 && items.length === 1}
                />
              </Fragment>
            ))}
            <div className={styles['buttons']}>
              <Button
                size="small"
                icon="plus"
                onClick={() => onChange(withMore(shown, group, emptyCondition(first)))}
                aria-label={group === 0 ? 'and' : `and, in alternative ${group + 1}`}
              >
                and
              </Button>
              {canOr && group === shown.length - 1 && (
                <Button size="small" icon="plus" onClick={() => onChange([...shown, [emptyCondition(first)]])}>
                  or
                </Button>
              )}
            </div>
          </div>
        </Fragment>
      ))}
    </div>
  )
}

function ItemRow({
  item,
  isOnly,
  onChange,
  ...choices
}: Choices & { item: Item; isOnly: boolean; onChange: (item: Item | undefined) => void }) {
  return (
    <div className={styles['item']}>
      {item.kind === 'text' ? (
        <TextArea
          label={item.text === 'true' ? 'Every request' : 'Part of the expression'}
          value={item.text}
          rows={Math.min(4, Math.ceil(item.text.length / 60) || 1)}
          onChange={(text) => onChange({ kind: 'text', text })}
        />
      ) : (
        <ConditionParts condition={item} onChange={onChange} {...choices} />
      )}
      {(!isOnly || item.kind === 'text') && (
        <IconButton icon="x" label="Remove this condition" size="small" onClick={() => onChange(undefined)} />
      )}
    </div>
  )
}

const QUANTIFIERS: readonly Option[] = [
  ['any', 'any of its values'],
  ['all', 'all of its values'],
  ['', 'its first value'],
]

function ConditionParts({
  condition,
  onChange,
  fields,
  lists,
  transforms,
}: Choices & { condition: Condition; onChange: (item: Item) => void }) {
  const { field: name, key, quantifier, transform, operator: chosen } = condition
  const field = fields.find((one) => one.name === name)
  const operator = field?.operators.find((one) => one.name === chosen)
  const set = (change: Partial<Condition>): void => onChange({ ...condition, ...change })
  const choose = (next: string): void => {
    const found = fields.find((one) => one.name === next)
    if (!found) return
    const kept = found.operators.find((one) => one.name === chosen)
    onChange({ ...emptyCondition(found), ...(kept && withOperator(kept, condition.value)) })
  }
  return (
    <div className={styles['parts']}>
      <FieldSelect fields={fields} value={name} onChange={choose} />
      {field?.key !== undefined && (
        <TextField
          label={field.key}
          hideLabel
          placeholder={field.key}
          value={key ?? ''}
          onChange={(next) => set({ key: next })}
        />
      )}
      {field?.isMany && (
        <SelectField
          label="Values"
          hideLabel
          value={quantifier ?? ''}
          options={QUANTIFIERS}
          onChange={(next) => set({ quantifier: next === '' ? null : (next as 'any' | 'all'), transform: null })}
        />
      )}
      {transform !== null && transforms && (
        <SelectField
          label="Change before"
          hideLabel
          value={transform}
          options={[['', 'as it is'], ...transforms]}
          onChange={(next) => set({ transform: next === '' ? null : next })}
        />
      )}
      <SelectField
        label="Operator"
        hideLabel
        value={chosen}
        options={(field?.operators ?? []).map((one) => [one.name, one.label])}
        onChange={(next) => {
          const found = field?.operators.find((one) => one.name === next)
          if (found) set(withOperator(found, condition.value))
        }}
      />
      {operator && <ValueInput operator={operator} condition={condition} field={field!} lists={lists} set={set} />}
      {field?.hint && <span className={styles['hint']}>{field.hint}</span>}
    </div>
  )
}

function FieldSelect({
  fields,
  value,
  onChange,
}: {
  fields: readonly BuilderField[]
  value: string
  onChange: (name: string) => void
}) {
  const options = useMemo(() => {
    const groups = [...new Set(fields.map(({ group }) => group ?? ''))]
    return groups.map((group) => [group, fields.filter((field) => (field.group ?? '') === group)] as const)
  }, [fields])
  return (
    <select
      className={styles['select']}
      aria-label="Field"
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    >
      {options.map(([group, own]) => {
        const items = own.map(({ name, label }) => (
          <option key={name} value={name}>
            {label}
          </option>
        ))
        return group === '' ? (
          items
        ) : (
          <optgroup key={group} label={group}>
            {items}
          </optgroup>
        )
      })}
    </select>
  )
}

function ValueInput({
  operator: { input, hint },
  condition: { value },
  field,
  lists = [],
  set,
}: {
  operator: BuilderOperator
  condition: Condition
  field: BuilderField
  lists: readonly string[] | undefined
  set: (change: Partial<Condition>) => void
}) {
  const text = typeof value === 'string' ? value : ''
  if (input === 'none') return null
  if (input === 'values')
    return (
      <TextArea
        label="Values, one per line"
        hideLabel
        rows={Math.min(6, Math.max(2, Array.isArray(value) ? value.length : 1))}
        value={Array.isArray(value) ? value.join('\n') : text}
        onChange={(next) => set({ value: next === '' ? [] : next.split('\n') })}
        hint={hint ?? 'One per line'}
      />
    )
  if (input === 'list' && lists.length > 0)
    return (
      <SelectField
        label="List"
        hideLabel
        value={text}
        options={[...(text === '' ? [['', 'Choose a list…'] as const] : []), ...listOptions(lists, text)]}
        onChange={(next) => set({ value: next })}
      />
    )
  const { suggestions } = field
  return (
    <TextField
      label="Value"
      hideLabel
      type={input === 'number' ? 'number' : 'text'}
      value={text}
      placeholder={input === 'list' ? 'Name of a list' : 'Value'}
      onChange={(next) => set({ value: input === 'list' ? next.replace(/^\$/, '') : next })}
      {...(hint !== undefined && { hint })}
      {...(suggestions && suggestions.length > 0 && { suggestions })}
    />
  )
}

/** The lists, and the one of the condition if it is gone. */
const listOptions = (lists: readonly string[], chosen: string): readonly Option[] =>
  [...new Set([...lists, ...(chosen === '' ? [] : [chosen])])].map((name) => [name, name])
