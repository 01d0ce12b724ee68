import { Type, type Static } from 'typebox'
import { orNull, orOff, strict } from '../core/schema.js'
import { MAX_IN_FLIGHT } from '../core/sink.js'
import type { CompiledJob } from '../../pipelines/logpush/compiled-job.js'
import { ANY, DATASETS, OutputOptions } from '../../pipelines/records/index.js'
import { OUTER_SOURCES, SOURCE_SCHEMAS, type Source } from './pipeline-sources.js'
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

const PipelineTest = Type.Object(
  {
    name: Type.Optional(Type.String({ minLength: 1, description: 'What it shows.' })),
    input: Type.Array(Type.Union([Type.String(), Type.Object({})]), {
      description: 'Records: objects, or JSON text where digits and order of keys matter.',
    }),
    output: Type.String({ description: 'The whole text of the batch that these records become; empty: none is kept.' }),
  },
  strict,
)
export type PipelineTest = Static<typeof PipelineTest>

const InFlight = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: MAX_IN_FLIGHT,
    description:
      'Maximum batches that are sent concurrently. Default: 4. Destinations that need order (stdout, syslog, redis, ' +
      'kafka) get one at a time.',
  }),
)

/** One pipeline: records from a source, filtered and formatted as in a job, to a destination. */
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
    filter: Type.Optional(
      Type.Union([Type.String(), Type.Object({})], { description: 'As in a job: {where: ...}, or its JSON text.' }),
    ),
    filter_attack_traffic: Type.Optional(Type.Boolean({ description: 'Leave out records of attack traffic.' })),
    output_options: Type.Optional(OutputOptions),
    logpull_options: Type.Optional(Type.String({ description: 'The older form of output_options.' })),
    max_upload_bytes: limit(5_000_000, 1_000_000_000, 'Bytes of a batch before compression. 0: no limit.'),
    max_upload_records: limit(1000, 1_000_000, 'Records of a batch. 0: no limit. Default: 100000.'),
    max_upload_interval_seconds: limit(30, 300, 'Seconds of a batch. 0: no limit. Default: 30.'),
    destination_conf: Type.String({ minLength: 1, maxLength: 4096, description: 'Where batches go, as in a job.' }),
    in_flight: InFlight,
    on_invalid: Type.Optional(
      Type.Union([Type.Literal('report'), Type.Literal('skip')], {
        description: 'skip: invalid records are counted, and do not make the run fail. Default: report.',
      }),
    ),
    retry_for: Duration('10m', 'A destination that fails for this long ends the run; what is not delivered is kept.'),
    dead_letter: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 4096,
        description:
          'Destination of records that the first one never takes: too large, or refused for what is in them.',
      }),
    ),
    spool_bytes: Size(
      '1GB',
      'On disk, for records that a source other than files has taken; beyond it they wait outside.',
    ),
    tests: Type.Optional(Type.Array(PipelineTest, { description: 'Run by edged test.' })),
  },
  strict,
)
export type PipelineDocument = Static<typeof PipelineDocument>

/** A pipeline that can be run: validated, with absolute paths. */
export interface Pipeline extends PipelineDocument {
  readonly name: string
  /** JSON text; "" if there is no filter. */
  readonly filter: string
  readonly job: CompiledJob
}

/** A file with several pipelines, which run concurrently. */
export const PipelineList = Type.Object(
  { pipelines: Type.Array(Type.Unknown({ description: 'A pipeline.' }), { minItems: 1 }) },
  strict,
)

/** A pipeline as written: `source: stdin` for short. */
const WrittenPipeline = Type.Object(
  {
    ...PipelineDocument.properties,
    source: { ...PipelineDocument.properties.source, oneOf: [{ const: 'stdin' }, ...Object.values(SOURCE_SCHEMAS)] },
  },
  strict,
)

/** Returns the JSON Schema of a pipeline file: one pipeline, or a list of them. */
export const PipelineFile = {
  oneOf: [WrittenPipeline, Type.Object({ pipelines: Type.Array(WrittenPipeline, { minItems: 1 }) }, strict)],
}
