import { InvalidInput } from '../../../src/core/errors.js'
import {
  ANY,
  OutputOptions,
  parseLogpullOptions,
  TIMESTAMP_FORMATS,
  type Dataset,
  type FieldType,
} from '../../records/index.js'
import type { Column, ColumnType } from '../parquet/columns.js'

interface ParquetSettings {
  readonly output_options?: unknown
  readonly logpull_options?: string | null | undefined
  readonly schema?: Readonly<Record<string, FieldType>> | undefined
  readonly transform?: unknown
}

/** Members of `output_options` that have an effect on Parquet. */
export const PARQUET_OPTIONS: readonly string[] = [
  'output_type',
  'field_names',
  'sample_rate',
  'timestamp_format',
  'merge_subrequests',
]

/** Formats whose digits do not fit into microseconds. */
const NANOS: readonly unknown[] = ['unixnano', 'rfc3339ns']

/** Returns the options of a job as given, in the newer form. */
function optionsOf(
  { output_options: given, logpull_options: older }: ParquetSettings,
  dataset: Dataset,
): OutputOptions {
  if (given !== undefined && given !== null) return given
  return typeof older === 'string' && older !== '' ? parseLogpullOptions(dataset, older) : {}
}

/** Returns the names of all columns. Undefined if they are the fields of the dataset. */
function declaredFields({ schema = {}, transform }: ParquetSettings, dataset: Dataset): string[] | undefined {
  if (dataset.name === ANY) return Object.keys(schema)
  return transform === undefined ? undefined : [...dataset.defaults, ...Object.keys(schema)]
}

/** Returns the settings of the text from which Parquet files are written: one JSON object a line, with exact times. */
export function textOfParquet<S extends ParquetSettings>(settings: S, dataset: Dataset): S {
  const given: unknown = optionsOf(settings, dataset)
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return settings
  const { field_names: names, timestamp_format: time = null } = given as OutputOptions
  const fields = names ?? declaredFields(settings, dataset)
  if (dataset.name === ANY && fields?.length === 0)
    throw new InvalidInput([{ pointer: '/schema', message: 'is required for parquet: it declares the columns' }])
  // Options that are unknown or not valid stay, so that they are reported.
  const kept = Object.entries(given).filter(
    ([name]) => PARQUET_OPTIONS.includes(name) || !Object.hasOwn(OutputOptions.properties, name),
  )
  const output_options = {
    ...Object.fromEntries(kept),
    output_type: 'ndjson',
    timestamp_format: time === null || TIMESTAMP_FORMATS.includes(time) ? 'unixnano' : time,
    ...(fields && { field_names: Array.isArray(fields) ? [...new Set(fields)] : fields }),
  }
  return { ...settings, output_options, logpull_options: undefined }
}

/** Returns the columns of Parquet files. Throws InvalidInput if a field of records of any shape has no type. */
export function columnsOf(
  names: readonly string[],
  { name: dataset, types, places }: Dataset,
  job: ParquetSettings,
): Column[] {
  const time = NANOS.includes((job.output_options as OutputOptions | null | undefined)?.timestamp_format)
    ? 'nanos'
    : 'micros'
  const untyped: string[] = []
  const columns = names.map((name): Column => {
    const type = types[places.get(name) ?? -1] ?? 'any'
    if (type === 'any' && dataset === ANY) untyped.push(name)
    return { name, type: columnType(type, time) }
  })
  if (untyped.length === 0) return columns
  const message = `needs a type for each column of parquet: ${untyped.join(', ')}`
  throw new InvalidInput([{ pointer: '/schema', message }])
}

function columnType(type: FieldType, time: ColumnType): ColumnType {
  if (type === 'timestamp') return time
  if (type === 'array[object]') return 'object'
  return type === 'any' ? 'string' : type
}
