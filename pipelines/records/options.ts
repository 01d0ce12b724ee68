import { Type, type Static } from 'typebox'
import { assertString, InvalidInput, type Issue } from '../../src/core/errors.js'
import { issuesOf, orNull, soundMembers, strict } from '../../src/core/schema.js'
import { TemplateError, parseTemplate } from './template.js'
import { ANY } from './fields/any.js'
import type { Dataset } from './fields/dataset.js'
import { fieldIssue } from './field-issue.js'
import { TIMESTAMP_FORMATS } from './timestamps.js'

const text = (description: string) => Type.Optional(orNull(Type.String({ maxLength: 65_536, description })))
const flag = (description: string) => Type.Optional(orNull(Type.Boolean({ description })))

// One enumeration and not a union with null, so that the error for a wrong value lists all valid ones.
const choice = <const V extends string>(values: readonly V[], description: string) =>
  Type.Optional(Type.Unsafe<V | null>({ enum: [...values, null], description }))

/** `output_options` of a job. A member that is null is as one that is absent; "" overrides a default. */
export const OutputOptions = Type.Object(
  {
    output_type: choice(['ndjson', 'csv'], 'Sets defaults and quoting.'),
    field_names: Type.Optional(
      orNull(
        Type.Array(Type.String(), { maxItems: 1000, description: 'Every wanted field, in the order of the output.' }),
      ),
    ),
    batch_prefix: text('Before each batch.'),
    batch_suffix: text('After each batch.'),
    record_prefix: text('Before each record; `{` for ndjson.'),
    record_suffix: text('After each record; `}` and a line break for ndjson, a line break for csv.'),
    record_delimiter: text('Between two records.'),
    field_delimiter: text('Between two fields, `,` unless said; without effect where record_template is set.'),
    record_template: text('In place of the joined fields: text, `{{.Field}}`, `{{"constant"}}` and comments.'),
    timestamp_format: choice(TIMESTAMP_FORMATS, 'unixnano unless said.'),
    sample_rate: Type.Optional(
      orNull(
        Type.Number({ exclusiveMinimum: 0, maximum: 1, description: 'The share of records kept after the filter.' }),
      ),
    ),
    'CVE-2021-44228': flag('Every `${` of the output becomes `x{`.'),
    merge_subrequests: flag('Subrequests become part of their parents; http_requests only.'),
    stringify_object: flag('Objects are written as JSON text in a string.'),
  },
  strict,
)
export type OutputOptions = Static<typeof OutputOptions>

const wrongShape = issuesOf(OutputOptions)

/** Output options that fit their dataset, typed. Throws InvalidInput with pointers into the options. */
export function parseOutputOptions(dataset: Dataset, input: unknown): OutputOptions {
  const issues: Issue[] = [...wrongShape(input)]
  if (issues.some(({ pointer }) => pointer === '')) throw new InvalidInput(issues)
  const options = soundMembers(input as OutputOptions, issues)
  for (const [index, name] of (options.field_names ?? []).entries()) {
    const message = fieldIssue(dataset, name)
    if (message !== undefined) issues.push({ pointer: `/field_names/${index}`, message })
  }
  if (options.field_names?.length === 0 && !options.record_template)
    issues.push({ pointer: '/field_names', message: 'must name at least one field' })
  if (dataset.name === ANY && options.output_type === 'csv' && !options.field_names && !options.record_template)
    issues.push({ pointer: '/field_names', message: 'is required for csv of records of any shape' })
  if (options.merge_subrequests && !dataset.places.has('Subrequests'))
    issues.push({ pointer: '/merge_subrequests', message: `is not possible for ${dataset.name}` })
  try {
    parseTemplate(options.record_template ?? '', { pointers: dataset.name === ANY })
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    issues.push({ pointer: '/record_template', message: error.message })
  }
  if (issues.length > 0) throw new InvalidInput(issues)
  return options
}

/** Parameters of the log pull interface that mean nothing for a job. */
const PULL_ONLY = ['start', 'end', 'count']

/**
 * The deprecated `logpull_options`, a URL or its query such as `fields=RayID,ClientIP&timestamps=rfc3339&sample=0.1`, as
 * output options. Throws InvalidInput with an empty pointer.
 */
export function parseLogpullOptions(dataset: Dataset, input: string): OutputOptions {
  assertString(input)
  const query = new URLSearchParams(input.slice(input.indexOf('?') + 1).split('#', 1)[0])
  const options: Record<string, unknown> = {}
  const read: Readonly<Record<string, (value: string) => void>> = {
    fields: (value) => (options['field_names'] = value.split(',')),
    sample: (value) => (options['sample_rate'] = value === '' ? NaN : Number(value)),
    timestamps: (value) => (options['timestamp_format'] = value),
    'CVE-2021-44228': (value) => (options['CVE-2021-44228'] = value === 'true' || (value === 'false' ? false : value)),
  }
  for (const [name, value] of query) {
    if (Object.hasOwn(read, name)) read[name]?.(value)
    else if (!PULL_ONLY.includes(name))
      throw new InvalidInput([{ pointer: '', message: `${name} is not a known option` }])
  }
  try {
    return parseOutputOptions(dataset, options)
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    throw new InvalidInput([{ pointer: '', message: error.issues.map(inQuery(options)).join('; ') }])
  }
}

const IN_QUERY: Readonly<Record<string, string>> = {
  field_names: 'fields',
  sample_rate: 'sample',
  timestamp_format: 'timestamps',
}

const inQuery =
  (options: Record<string, unknown>) =>
  ({ pointer, message }: Issue) => {
    const [, member = '', index] = pointer.split('/')
    const names = options['field_names'] as string[] | undefined
    const found = index === undefined ? '' : ` ${names?.[Number(index)] ?? ''}`
    return `${IN_QUERY[member] ?? member}:${found} ${message}`
  }
