import { SelectField, TextArea, TextField } from '../../../parts/fields.tsx'
import type { Params } from '../rule.ts'
import styles from '../rules.module.css'
import { numberOf, textOf } from './form.ts'

const PER = [
  ['ip.src', 'IP address'],
  ['http.request.headers["authorization"]', 'Authorization field'],
  ['http.request.headers["x-api-key"]', 'X-API-Key field'],
  ['http.host', 'Host name'],
  ['edged.agent.name', 'Agent'],
] as const
const OWN = 'own'

/** Returns the counting of a new rate limit. Nothing is filled in that has an effect. */
export const newLimit = (): Params => ({ characteristics: ['ip.src'], period: 60 })

/** `[100] requests in [60] seconds per [IP address], then for [60] seconds`. */
export function RateLimit({
  limit,
  onChange,
  error,
}: {
  limit: Params
  onChange: (limit: Params) => void
  error: (name: string) => string | undefined
}) {
  const characteristics = (limit['characteristics'] ?? []) as readonly string[]
  const [only = ''] = characteristics
  const isKnown = characteristics.length === 1 && PER.some(([value]) => value === only)
  const set = (name: string, value: unknown): void => {
    const { [name]: _old, ...rest } = limit
    onChange(value === undefined ? rest : { ...limit, [name]: value })
  }
  const number = (name: string, label: string, min: number) => (
    <TextField
      label={label}
      type="number"
      min={min}
      value={textOf(limit[name])}
      error={error(name)}
      onChange={(text) => set(name, numberOf(text))}
    />
  )
  return (
    <fieldset className="stack">
      <legend>Rate limit</legend>
      <div className={styles['sentence']}>
        {number('requests_per_period', 'More than … requests', 1)}
        {number('period', 'in … seconds', 1)}
        <SelectField
          label="per"
          value={isKnown ? only : OWN}
          options={[...PER, [OWN, 'Own expressions']]}
          onChange={(next) => set('characteristics', next === OWN ? ['ip.src', 'http.host'] : [next])}
        />
        {number('mitigation_timeout', 'acts for … seconds', 0)}
      </div>
      {!isKnown && (
        <TextArea
          label="Counted separately for each value of"
          hint="Expressions, one per line"
          value={characteristics.join('\n')}
          error={error('characteristics')}
          onChange={(text) => set('characteristics', text.split('\n'))}
        />
      )}
      <TextField
        label="Requests that count"
        mono
        hint="An expression. Empty: those of the condition above"
        value={textOf(limit['counting_expression'])}
        error={error('counting_expression')}
        onChange={(text) => set('counting_expression', text === '' ? undefined : text)}
      />
    </fieldset>
  )
}
