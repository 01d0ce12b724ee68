import { useState } from 'preact/hooks'
import { Choice, TextField } from '../parts.tsx'
import type { DatasetField } from './dataset-info.ts'

/** Adds conditions to the text of a filter, with the fields of a dataset and the operators of each. */
export function FilterPart({
  fields,
  filter,
  onFilter,
}: {
  fields: readonly DatasetField[]
  filter: string
  onFilter: (filter: string) => void
}) {
  const filterable = fields.filter(({ operators }) => operators.length > 0)
  const [key, setKey] = useState(filterable[0]?.name ?? '')
  const [chosen, setOperator] = useState('eq')
  const [value, setValue] = useState('')
  const [error, setError] = useState<string>()
  const field = filterable.find(({ name }) => name === key)
  if (!field) return null
  const operator = field.operators.includes(chosen) ? chosen : field.operators[0]!
  const add = () => {
    const text = withCondition(filter, { key, operator, value: typed(field.type, operator, value) })
    setError(text === undefined ? 'The filter above is not JSON with the member where.' : undefined)
    if (text !== undefined) onFilter(text)
  }
  return (
    <div class="row">
      <Choice
        label="Field of a condition"
        value={key}
        options={filterable.map(({ name }) => [name, name])}
        onChange={setKey}
      />
      <Choice
        label="Operator"
        value={operator}
        options={field.operators.map((one) => [one, one])}
        onChange={setOperator}
      />
      <TextField label={`Value (${field.type})`} value={value} onInput={setValue} error={error} />
      <button type="button" onClick={add}>
        Add to the filter
      </button>
    </div>
  )
}

type Where = Readonly<Record<string, unknown>>

/** Returns a filter that also has a condition. Undefined if the text is not a filter. */
function withCondition(filter: string, condition: Where): string | undefined {
  if (filter.trim() === '') return JSON.stringify({ where: condition })
  try {
    const { where } = JSON.parse(filter) as { where?: Where }
    if (typeof where !== 'object') return undefined
    const others: readonly unknown[] = Array.isArray(where['and']) ? where['and'] : [where]
    return JSON.stringify({ where: { and: [...others, condition] } })
  } catch {
    return undefined
  }
}

/** Returns the typed text as a value of the field; lists are separated by commas. The API checks it. */
function typed(type: string, operator: string, text: string): unknown {
  if (operator === 'in' || operator === '!in') return text.split(',').map((one) => typed(type, 'eq', one.trim()))
  if (type === 'bool') return text === 'true' || (text === 'false' ? false : text)
  const number = Number(text)
  const isNumber = ['int', 'float', 'timestamp', 'array[int]'].includes(type) && text !== '' && !Number.isNaN(number)
  return isNumber ? number : text
}
