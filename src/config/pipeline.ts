import { Type, type Static } from 'typebox'
import { orNull, orOff, strict } from '../core/schema.js'
import { COMPRESSION_LEVELS, MAX_IN_FLIGHT } from '../core/sink.js'
import type { CompiledJob } from '../../pipelines/logpush/settings/compiled-job.js'
import { ANY, DATASETS, OutputOptions, type Dataset } from '../../pipelines/records/index.js'
import type { LineFormat } from '../../pipelines/records/text/index.js'
import { OUTER_SOURCES, SOURCE_SCHEMAS, type Source } from './pipeline-sources.js'
import { Plugins } from './plugins.js'
import { RESHAPE } from './pipeline-reshape.js'
import { Duration, Size } from './units.js'

const limit = (minimum: number, maximum: number, description: string) =>
  Type.Optional(
    orNull(
      Type.Unsafe<number>({
        ...orOff(Type.Integer({ minimum, maximum })),
        description,
        'x-message': `must be 0 or a whole number from ${minimum} to ${maximum}`,
      }),
    ),
  )

const OutputTest = Type.Object(
  {
    name: Type.Optional(Type.String({ minLength: 1, description: 'What it shows.' })),
    input: Type.Array(Type.Union([Type.String(), Type.Object({})]), {
      description:
        'Records: objects, or JSON text where digits and order of keys matter; with a format other than json texts are lines.',
    }),
    output: Type.String({ description: 'The whole text of the batch that these records become; empty: none is kept.' }),
  },
  strict,
)
export type OutputTest = Static<typeof OutputTest>

const Tests = Type.Optional(Type.Array(OutputTest, { description: 'Run by edged test.' }))

const InFlight = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: MAX_IN_FLIGHT,
    description:
      'Maximum batches that are sent concurrently. Default: 4. Destinations that need order (stdout, syslog, redis, ' +
      'kafka) get one at a time.',
  }),
)

const CompressionLevel = Type.Optional(
  Type.Union([Type.Integer({ minimum: 1, maximum: 9 }), Type.Literal('auto')], {
    description:
      'Level of gzip, if the destination takes gzip: 1 is the fastest, 9 makes the smallest. Default: auto, which is ' +
      `${COMPRESSION_LEVELS.csv} for csv and ${COMPRESSION_LEVELS.ndjson} for ndjson.`,
  }),
)

const Destination = Type.String({ minLength: 1, maxLength: 4096, description: 'Where batches go, as in a job.' })

const RETRY_FOR = 'A destination that fails for this long ends the run; what is not delivered is kept.'

/** Options for the records, as in a job. */
const OUTPUT = {
  filter: Type.Optional(
    Type.Union([Type.String(), Type.Object({})], { description: 'As in a job: {where: ...}, or its JSON text.' }),
  ),
  filter_attack_traffic: Type.Optional(Type.Boolean({ description: 'Leave out records of attack traffic.' })),
  ...RESHAPE,
  output_options: Type.Optional(
    Type.Unsafe<Static<typeof OutputOptions>>({
      ...OutputOptions,
      properties: {
        ...OutputOptions.properties,
        output_type: {
          ...OutputOptions.properties.output_type,
          enum: ['ndjson', 'csv', 'parquet', null],
          description: 'Sets defaults and quoting. parquet: each batch is a Parquet file.',
        },
      },
      description: 'Fields and format of the output, as in a job. Default: all fields as NDJSON.',
    }),
  ),
  logpull_options: Type.Optional(Type.String({ description: 'The older form of output_options.' })),
  max_upload_bytes: limit(5_000_000, 1_000_000_000, 'Bytes of a batch before compression. 0: no limit.'),
  max_upload_records: limit(1, 1_000_000, 'Records of a batch. 0: no limit. Default: 100000.'),
  max_upload_interval_seconds: limit(1, 300, 'Seconds of a batch. 0: no limit. Default: 1 for stdout, else 30.'),
  in_flight: InFlight,
  compression_level: CompressionLevel,
}

const DeadLetter = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 4096,
    description: 'Destination of records that the first one never takes: too large, or refused for what is in them.',
  }),
)

/** Members of a pipeline that each of its routes has instead, if it has routes. */
export const OUTPUT_MEMBERS: readonly string[] = [...Object.keys(OUTPUT), 'destination_conf', 'tests']

/** One of several outputs of a pipeline. */
export const RouteDocument = Type.Object(
  {
    name: Type.String({
      pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,49}$',
      description: 'Names it in metrics, messages and the summary.',
      'x-message': 'must be at most 50 letters, digits, dashes and underscores',
    }),
    ...OUTPUT,
    destination_conf: Destination,
    retry_for: Type.Optional(Duration(undefined, `${RETRY_FOR} Default: that of the pipeline.`)),
    dead_letter: DeadLetter,
    tests: Tests,
  },
  strict,
)
export type RouteDocument = Static<typeof RouteDocument>

export const MAX_ROUTES = 32

/**
 * One pipeline. It sends records from a source, filtered and formatted as in a job, to a destination, or to the
 * destinations of its routes.
 */
export const PipelineDocument = Type.Object(
  {
    name: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$',
        description: 'Names it in messages and in the folder of its state. Default: the name of the file.',
        'x-message': 'must be letters, digits, dots, dashes and underscores',
      }),
    ),
    source: Type.Unsafe<Source>({
      oneOf: Object.values(SOURCE_SCHEMAS),
      description: `Source of the records: ${OUTER_SOURCES.join(', ')}; inside the daemon also zone and account.`,
    }),
    dataset: Type.Enum([ANY, ...DATASETS.keys()], {
      description:
        'What the records are. any: JSON objects with any fields; field_names and filters take top-level names or JSON ' +
        'pointers such as /user/email, templates {{.name}} or {{./user/email}}. Without field_names records stay as they are.',
    }),
    schema: Type.Optional(
      Type.Record(Type.String(), Type.Enum(['string', 'int', 'float', 'bool', 'timestamp', 'object']), {
        description: 'Types of fields of dataset any, by name or JSON pointer: timestamp follows timestamp_format.',
      }),
    ),
    ...OUTPUT,
    destination_conf: Type.Optional(Destination),
    routes: Type.Optional(
      Type.Array(RouteDocument, {
        minItems: 1,
        maxItems: MAX_ROUTES,
        description:
          'Several outputs of one read, instead of filter, output_options, destination_conf and the limits of batches. Each ' +
          'has a place of its own in the records. One that is slow or fails holds the others back only when spool_bytes ' +
          'are full of records that it has not delivered; routes of a zone or account never wait for each other.',
      }),
    ),
    on_invalid: Type.Optional(
      Type.Union([Type.Literal('report'), Type.Literal('skip')], {
        description: 'skip: invalid records are counted, and do not make the run fail. Default: report.',
      }),
    ),
    retry_for: Duration('10m', RETRY_FOR),
    dead_letter: DeadLetter,
    spool_bytes: Size(
      '1GB',
      'Maximum bytes on disk of records that were read and not delivered, for sources other than files and for routes; ' +
        'beyond it the source waits.',
    ),
    tests: Tests,
  },
  strict,
)
export type PipelineDocument = Static<typeof PipelineDocument>

/** One output of a pipeline: validated, with absolute paths. */
export interface PipelineOutput {
  /** Name of the route. Undefined if the pipeline has no routes. */
  readonly route: string | undefined
  readonly job: CompiledJob
  readonly destination_conf: string
  readonly dead_letter?: string | undefined
  /** Milliseconds. */
  readonly retry_for: number
  readonly tests: readonly OutputTest[]
}

/** A pipeline that can be run: validated, with absolute paths. */
export interface Pipeline extends PipelineDocument {
  readonly name: string
  /** The dataset of its records as stored. */
  readonly stored: Dataset
  /** Format of the lines or messages of its source. Undefined for JSON. */
  readonly lines: LineFormat | undefined
  /** At least one. */
  readonly outputs: readonly PipelineOutput[]
}

/** Returns the name of an output in messages. It consists of the name of its pipeline, and of its route if it has one. */
export const outputName = ({ name }: { readonly name: string }, { route }: { readonly route: string | undefined }) =>
  route === undefined ? name : `${name}/${route}`

/** A file with several pipelines, which run concurrently. */
export const PipelineList = Type.Object(
  {
    plugins: Type.Optional(Plugins),
    pipelines: Type.Array(Type.Unknown({ description: 'A pipeline.' }), { minItems: 1 }),
  },
  strict,
)

/** A pipeline of a file as written: `source: stdin` for short, and plug-ins unless it is one of a list. */
const WRITTEN = {
  ...PipelineDocument.properties,
  source: { ...PipelineDocument.properties.source, oneOf: [{ const: 'stdin' }, ...Object.values(SOURCE_SCHEMAS)] },
}
const WITH_OUTPUT = { ...strict, anyOf: [{ required: ['destination_conf'] }, { required: ['routes'] }] }
const WrittenPipeline = Type.Object(WRITTEN, WITH_OUTPUT)
const SinglePipeline = Type.Object({ plugins: Type.Optional(Plugins), ...WRITTEN }, WITH_OUTPUT)

/** Returns the JSON Schema of a pipeline file, which has one pipeline or a list of pipelines. */
export const PipelineFile = {
  oneOf: [
    SinglePipeline,
    Type.Object({ plugins: Type.Optional(Plugins), pipelines: Type.Array(WrittenPipeline, { minItems: 1 }) }, strict),
  ],
}
