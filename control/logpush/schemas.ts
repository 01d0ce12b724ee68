import { Type, type Static } from 'typebox'
import { orNull, orOff, strict } from '../../src/core/schema.js'
import { MAX_IN_FLIGHT } from '../../src/core/sink.js'
import { EdgedSource } from '../resources/file-source.js'
import { JobState } from './job-state.js'
import { DATASETS, OutputOptions } from '../../pipelines/records/index.js'

/** One enumeration and not a union with null, so that the error for a wrong value lists all valid ones. */
const choice = <const V extends string>(values: readonly V[], description: string) =>
  Type.Optional(Type.Unsafe<V | null>({ enum: [...values, null], description }))

const limit = (least: number, max: number, description: string) => {
  const said = { 'x-message': `must be 0 or an integer from ${least} to ${max}` }
  return Type.Optional(
    Type.Union([...orOff(Type.Integer({ minimum: least, maximum: max, ...said })).anyOf, Type.Null()], {
      description: `${description} 0: no limit.`,
      ...said,
    }),
  )
}

export const Destination = Type.String({
  minLength: 1,
  maxLength: 4096,
  description:
    'URI of the place that records are pushed to, with its parameters and credentials. In a change, *** in place of a secret ' +
    'keeps the stored one.',
})

export const Challenge = Type.String({
  maxLength: 4096,
  pattern: '^[a-zA-Z0-9/+._-]*$',
  description: 'The token that POST /logpush/ownership wrote to the destination.',
  'x-message': 'must be a token as the ownership file has it, at most 4096 characters',
})

export const LogpullOptions = Type.String({ maxLength: 4096, format: 'uri-reference' })

const changeable = {
  edged_in_flight: Type.Optional(
    orNull(
      Type.Integer({
        minimum: 1,
        maximum: MAX_IN_FLIGHT,
        description:
          'Maximum batches of this job that are sent concurrently. Default: 4. Destinations that need order get one at a time.',
      }),
    ),
  ),
  enabled: Type.Optional(Type.Boolean({ description: 'False unless said.' })),
  name: Type.Optional(orNull(Type.String({ maxLength: 512, description: 'For people; not unique.' }))),
  filter: Type.Optional(
    orNull(Type.String({ description: 'JSON text: `{"where": ...}`, at most 1,000 bytes and 30 comparisons.' })),
  ),
  filter_attack_traffic: Type.Optional(
    Type.Boolean({ description: 'Leaves attack traffic out: http_requests, firewall_events, network_analytics_logs.' }),
  ),
  frequency: choice(
    ['high', 'low'],
    'Deprecated: use max_upload_*. low: 300 seconds, where max_upload_interval_seconds says nothing.',
  ),
  kind: Type.Optional(
    Type.Enum(['', 'edge'], { description: 'edge: edge log delivery of http_requests. Stays as it was created.' }),
  ),
  logpull_options: Type.Optional(
    orNull({ ...LogpullOptions, description: 'Deprecated. No effect together with output_options.' }),
  ),
  max_upload_bytes: limit(5_000_000, 1_000_000_000, 'Bytes of a batch before compression.'),
  max_upload_interval_seconds: limit(30, 300, 'Seconds that a batch collects records.'),
  max_upload_records: limit(1000, 1_000_000, 'Records of a batch.'),
  output_options: Type.Optional(orNull(OutputOptions)),
  ownership_challenge: Type.Optional(Challenge),
  subrequest_merging: Type.Optional(Type.Boolean({ description: 'Another name of output_options.merge_subrequests.' })),
}

const dataset = choice([...DATASETS.keys()], 'http_requests for zones and audit_logs_v2 for accounts unless said.')

export const JobInput = Type.Object({ dataset, destination_conf: Destination, ...changeable }, strict)
export type JobInput = Static<typeof JobInput>

/** Members left out stay as they are; `output_options` is replaced as a whole. */
export const JobChange = Type.Object({ dataset, destination_conf: Type.Optional(Destination), ...changeable }, strict)
export type JobChange = Static<typeof JobChange>

const { ownership_challenge: _challenge, subrequest_merging: _alias, ...stored } = changeable
const time = (description: string) => orNull(Type.String({ format: 'date-time', description }))

/** Members that were never given are left out. */
export const JobResult = Type.Object({
  ...stored,
  id: Type.Integer({ minimum: 1 }),
  dataset: Type.Enum([...DATASETS.keys()]),
  kind: Type.Enum(['', 'edge']),
  enabled: Type.Boolean(),
  destination_conf: Type.Optional({
    ...Destination,
    description:
      'As it was given; with *** in place of secrets for callers that may not change jobs. Absent if no key of the section ' +
      'secrets decrypts it; error_message then says so.',
  }),
  last_complete: time('End of the range that was delivered last.'),
  last_error: time('Of the last failure; null since a delivery has succeeded.'),
  error_message: orNull(Type.String({ description: 'Why the job is failing now; null while it is not.' })),
  edged: JobState,
  edged_source: EdgedSource,
})
export type JobResult = Static<typeof JobResult>

export const Verdict = Type.Object({ valid: Type.Boolean(), message: Type.String() })

export const DestinationVerdict = Type.Object({
  ...Verdict.properties,
  edged: Type.Object({
    status: orNull(Type.Integer({ description: 'Status of the response. Null without one, or without HTTP.' })),
    body: orNull(Type.String({ description: 'Its first 1,000 characters, with *** in place of secrets.' })),
  }),
})
