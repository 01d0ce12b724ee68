import { Type } from 'typebox'
import { OutputOptions } from '../../pipelines/records/index.js'
import { strict } from '../../src/core/schema.js'

/** What `edged tail` asks for. */
export const TailInput = Type.Object(
  {
    job: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Id of a job: its records, written as it writes them.' }),
    ),
    pipeline: Type.Optional(Type.String({ maxLength: 100, description: 'Name of a pipeline: the same of this.' })),
    route: Type.Optional(Type.String({ maxLength: 50, description: 'Route of the pipeline. Default: the first one.' })),
    dataset: Type.Optional(
      Type.String({
        maxLength: 100,
        description: 'Without job and pipeline: records of this dataset. Default: http_requests of zones.',
      }),
    ),
    fields: Type.Optional(
      Type.String({ maxLength: 16_384, description: 'Names of fields with commas between them; JSON is written.' }),
    ),
    filter: Type.Optional(
      Type.String({ maxLength: 65_536, description: 'JSON text, as in the filter of a job; beside that of the job.' }),
    ),
    output_options: Type.Optional({
      ...OutputOptions,
      description: 'Of records of a dataset: how a job with these options writes them.',
    }),
    sample: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, description: '10 shows one record of 10.' })),
  },
  strict,
)
export type TailInput = Type.Static<typeof TailInput>
