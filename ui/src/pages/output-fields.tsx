import { Choice, TextField, Toggle } from '../parts.tsx'
import type { DatasetInfo } from './dataset-info.ts'

/** The part of `output_options` that the form has. Empty texts: the default. */
export interface Output {
  /** Empty: the default fields. */
  readonly fields: readonly string[]
  readonly output_type: string
  readonly timestamp_format: string
  readonly sample_rate: string
  readonly merge_subrequests: boolean
  readonly stringify_object: boolean
  readonly 'CVE-2021-44228': boolean
}

export const NO_OUTPUT: Output = {
  fields: [],
  output_type: '',
  timestamp_format: '',
  sample_rate: '',
  merge_subrequests: false,
  stringify_object: false,
  'CVE-2021-44228': false,
}

/** Returns the member `output_options` of a job. Nothing if all are defaults. */
export function outputOptions({ fields, sample_rate: rate, ...others }: Output): object {
  const set = Object.entries(others).filter(([, value]) => value !== '' && value !== false)
  const options = {
    ...Object.fromEntries(set),
    ...(fields.length > 0 && { field_names: fields }),
    ...(rate.trim() !== '' && { sample_rate: Number.isNaN(Number(rate)) ? rate : Number(rate) }),
  }
  return Object.keys(options).length > 0 ? { output_options: options } : {}
}

const DEFAULT = ['', 'default'] as const
const TYPES = [DEFAULT, ['ndjson', 'NDJSON'], ['csv', 'CSV']] as const
const FORMATS = ['unixnano', 'unix', 'rfc3339', 'rfc3339ms', 'rfc3339ns'] as const
const SWITCHES = [
  ['merge_subrequests', 'Merge subrequests into their parents'],
  ['stringify_object', 'Write objects as text'],
  ['CVE-2021-44228', 'Write ${ as x{ (CVE-2021-44228)'],
] as const

/** Fields and form of the records of a new job. */
export function OutputFields({
  info,
  output,
  onOutput,
  at,
}: {
  info: DatasetInfo
  output: Output
  onOutput: (output: Output) => void
  at: (pointer: string) => string | undefined
}) {
  const toggle = (name: string) => {
    const { fields } = output
    onOutput({ ...output, fields: fields.includes(name) ? fields.filter((one) => one !== name) : [...fields, name] })
  }
  return (
    <>
      <details>
        <summary>{`Fields: ${output.fields.length > 0 ? output.fields.join(', ') : 'the default fields'}`}</summary>
        <fieldset class="fields">
          <legend>{`Fields of ${info.name}, pushed in the order of their choice`}</legend>
          {info.fields.map(({ name, type, default: isDefault, deprecated }) => (
            <label key={name}>
              <input type="checkbox" checked={output.fields.includes(name)} onChange={() => toggle(name)} />
              <span>
                {name}{' '}
                <span class="soft">{`${type}${isDefault ? ', default' : ''}${deprecated ? ', deprecated' : ''}`}</span>
              </span>
            </label>
          ))}
        </fieldset>
      </details>
      <div class="row">
        <Choice
          label="Format of records"
          value={output.output_type}
          options={TYPES}
          onChange={(type) => onOutput({ ...output, output_type: type })}
        />
        <Choice
          label="Format of points in time"
          value={output.timestamp_format}
          options={[DEFAULT, ...FORMATS.map((one) => [one, one] as const)]}
          onChange={(format) => onOutput({ ...output, timestamp_format: format })}
        />
        <TextField
          label="Share of records"
          hint="Above 0, at most 1"
          value={output.sample_rate}
          onInput={(rate) => onOutput({ ...output, sample_rate: rate })}
          error={at('/output_options/sample_rate')}
        />
      </div>
      {SWITCHES.filter(([name]) => name !== 'merge_subrequests' || info.merges).map(([name, label]) => (
        <div key={name} class="check">
          <Toggle label={label} on={output[name]} onChange={(on) => onOutput({ ...output, [name]: on })} />
          <span aria-hidden="true">{label}</span>
        </div>
      ))}
    </>
  )
}
