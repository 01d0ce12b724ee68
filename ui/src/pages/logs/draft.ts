import { parseDestination, writeDestination, type Destination } from './destination.ts'
import type { Job, Owner } from './jobs.ts'

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

/** What the user has written into the form of a job. */
export interface Draft {
  readonly owner: Owner
  readonly destination: Destination
  readonly dataset: string
  /** JSON text. Empty: all records. */
  readonly filter: string
  readonly output: Output
  readonly name: string
  readonly seconds: string
  readonly records: string
  readonly megabytes: string
}

const MEGABYTE = 1_000_000
const asText = (value: number | null | undefined): string => (value ? String(value) : '')

/** Returns the draft of a new job. */
export const newDraft = (owner: Owner): Draft => ({
  owner,
  destination: { scheme: 'https', place: '', values: {}, headers: '' },
  dataset: usualDataset(owner),
  filter: '',
  output: outputOf(undefined),
  name: '',
  seconds: '',
  records: '',
  megabytes: '',
})

/** The daemon itself records these datasets. */
export const usualDataset = ({ type }: Owner): string => (type === 'zone' ? 'http_requests' : 'audit_logs_v2')

/** Returns the draft of a stored job. `shown`: its destination without secrets. */
export const draftOf = (job: Job, owner: Owner, shown: string): Draft => ({
  owner,
  destination: parseDestination(shown),
  dataset: job.dataset,
  filter: job.filter ?? '',
  output: outputOf(job.output_options ?? undefined),
  name: job.name ?? '',
  seconds: asText(job.max_upload_interval_seconds),
  records: asText(job.max_upload_records),
  megabytes: asText(job.max_upload_bytes && job.max_upload_bytes / MEGABYTE),
})

function outputOf(stored: Readonly<Record<string, unknown>> | undefined): Output {
  const text = (name: string): string => {
    const value = stored?.[name]
    return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
  }
  const names = stored?.['field_names']
  return {
    fields: Array.isArray(names) ? names.map(String) : [],
    output_type: text('output_type'),
    timestamp_format: text('timestamp_format'),
    sample_rate: text('sample_rate') === '1' ? '' : text('sample_rate'),
    merge_subrequests: stored?.['merge_subrequests'] === true,
    stringify_object: stored?.['stringify_object'] === true,
    'CVE-2021-44228': stored?.['CVE-2021-44228'] === true,
  }
}

const OWN = [
  'field_names',
  'output_type',
  'timestamp_format',
  'sample_rate',
  'merge_subrequests',
  'stringify_object',
  'CVE-2021-44228',
]

/** Returns `output_options`, with the stored members that the form does not have. Undefined if all are defaults. */
export function writeOutput(
  { fields, sample_rate: rate, ...others }: Output,
  stored: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> | undefined {
  const kept = Object.entries(stored).filter(([name]) => !OWN.includes(name))
  const set = Object.entries(others).filter(([, value]) => value !== '' && value !== false)
  const options = {
    ...Object.fromEntries(kept),
    ...Object.fromEntries(set),
    ...(fields.length > 0 && { field_names: fields }),
    ...(rate.trim() !== '' && { sample_rate: Number.isNaN(Number(rate)) ? rate : Number(rate) }),
  }
  return Object.keys(options).length > 0 ? options : undefined
}

const limitOf = (text: string, factor = 1): number | string | null => {
  if (text.trim() === '') return null
  const value = Number(text)
  return Number.isNaN(value) ? text : Math.round(value * factor)
}

/** Returns the body of the request that stores a draft. */
export function bodyOf(draft: Draft, job: Job | undefined): object {
  const options = writeOutput(draft.output, job?.output_options ?? {})
  const limits = {
    max_upload_interval_seconds: limitOf(draft.seconds),
    max_upload_records: limitOf(draft.records),
    max_upload_bytes: limitOf(draft.megabytes, MEGABYTE),
  }
  const isChange = job !== undefined
  return {
    ...Object.fromEntries(Object.entries(limits).filter(([, value]) => isChange || value !== null)),
    destination_conf: writeDestination(draft.destination),
    ...(isChange
      ? { name: draft.name || null }
      : { ...(draft.name !== '' && { name: draft.name }), dataset: draft.dataset, enabled: true }),
    ...(isChange ? { filter: draft.filter || null } : draft.filter !== '' && { filter: draft.filter }),
    ...(options ? { output_options: options } : isChange && job.output_options ? { output_options: {} } : {}),
  }
}
