import { useState } from 'react'
import { Button, IconButton } from '../../parts/button.tsx'
import { Segments, SelectField, TextArea, TextField } from '../../parts/fields.tsx'
import {
  OPERATOR_NAMES,
  readFilter,
  writeFilter,
  type Condition,
  type Conditions,
  type DatasetField,
} from './filter.ts'
import styles from './logs.module.css'

/** Conditions of a filter as rows, or its text. Both follow each other. What is too deep for rows stays text. */
export function FilterBuilder({
  fields,
  filter,
  onChange,
  error,
}: {
  fields: readonly DatasetField[]
  filter: string
  onChange: (filter: string) => void
  error: string | undefined
}) {
  const conditions = readFilter(filter)
  const [isText, setText] = useState(conditions === undefined)
  const usable = fields.filter(({ operators }) => operators.length > 0)
  const write = (next: Conditions): void => onChange(writeFilter(next, fields))
  return (
    <div className={styles['conditions']}>
      <div className={styles['fieldHead']}>
        <strong>Filter</strong>
        <Segments
          label="Form of the filter"
          value={isText ? 'text' : 'rows'}
          options={[
            ['rows', 'Builder'],
            ['text', 'JSON'],
          ]}
          onChange={(form) => setText(form === 'text')}
        />
        {!isText && conditions && conditions.rows.length > 1 && (
          <SelectField
            label="Conditions"
            hideLabel
            value={conditions.join}
            options={[
              ['and', 'All of these hold'],
              ['or', 'One of these holds'],
            ]}
            onChange={(join) => write({ ...conditions, join: join === 'or' ? 'or' : 'and' })}
          />
        )}
      </div>
      {isText && (
        <TextArea
          label="Filter as JSON"
          hideLabel
          hint='For example {"where":{"key":"EdgeResponseStatus","operator":"geq","value":500}}'
          value={filter}
          onChange={onChange}
          error={error}
        />
      )}
      {!isText && conditions === undefined && (
        <p className="soft">This filter is too deep for the builder. Change it as JSON.</p>
      )}
      {!isText && conditions && (
        <>
          {conditions.rows.map((row, at) => (
            <ConditionRow
              key={at}
              row={row}
              at={at + 1}
              fields={usable}
              onChange={(next) => write({ ...conditions, rows: conditions.rows.with(at, next) })}
              onRemove={() => write({ ...conditions, rows: conditions.rows.toSpliced(at, 1) })}
            />
          ))}
          {conditions.rows.length === 0 && <p className="soft">All records are sent.</p>}
          {error !== undefined && <p role="alert">{error}</p>}
          <div>
            <Button
              size="small"
              icon="plus"
              onClick={() => write({ ...conditions, rows: [...conditions.rows, firstCondition(usable)] })}
            >
              Add a condition
            </Button>
          </div>
        </>
      )}
    </div>
  )
}

/** People ask for errors most often. */
function firstCondition(fields: readonly DatasetField[]): Condition {
  const status = fields.find(({ name }) => name === 'EdgeResponseStatus')
  if (status) return { key: status.name, operator: 'geq', value: '500' }
  const [first] = fields
  return { key: first?.name ?? '', operator: first?.operators[0] ?? 'eq', value: '' }
}

function ConditionRow({
  row,
  at,
  fields,
  onChange,
  onRemove,
}: {
  row: Condition
  at: number
  fields: readonly DatasetField[]
  onChange: (row: Condition) => void
  onRemove: () => void
}) {
  const field = fields.find(({ name }) => name === row.key)
  const operators = field?.operators ?? [row.operator]
  const isList = row.operator === 'in' || row.operator === '!in'
  return (
    <div className={styles['condition']} role="group" aria-label={`Condition ${at}`}>
      <SelectField
        label="Field"
        hideLabel
        value={row.key}
        options={fields.map(({ name }) => [name, name])}
        onChange={(key) => {
          const next = fields.find(({ name }) => name === key)!
          onChange({ ...row, key, operator: next.operators.includes(row.operator) ? row.operator : next.operators[0]! })
        }}
      />
      <SelectField
        label="Operator"
        hideLabel
        value={row.operator}
        options={operators.map((one) => [one, OPERATOR_NAMES[one] ?? one])}
        onChange={(operator) => onChange({ ...row, operator })}
      />
      {field?.type === 'bool' ? (
        <SelectField
          label="Value"
          hideLabel
          value={row.value}
          options={[
            ['true', 'true'],
            ['false', 'false'],
          ]}
          onChange={(value) => onChange({ ...row, value })}
        />
      ) : (
        <TextField
          label="Value"
          hideLabel
          placeholder={isList ? 'Values, with commas' : 'Value'}
          value={row.value}
          onChange={(value) => onChange({ ...row, value })}
        />
      )}
      <IconButton icon="x" label={`Remove condition ${at}`} size="small" onClick={onRemove} />
    </div>
  )
}
