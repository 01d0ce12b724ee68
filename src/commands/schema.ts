import { openapiDocument } from '../../control/openapi/index.js'
import { documented } from '../config/document.js'
import { forEditors } from '../config/editor-schema.js'
import { PipelineFile } from '../config/pipeline.js'
import { pipelineManual, stageTable } from '../config/pipeline-manual.js'
import { ConfigFile } from '../config/schema.js'
import { SINKS } from '../../sinks/index.js'
import { destinationSchemas, destinationTable } from '../../sinks/manual.js'
import { TestPayload, WebhookPayload } from '../webhooks/payload-schema.js'
import type { DefineCommand } from './common/command.js'
import { everyEndpoint } from '../daemon/every-endpoint.js'

const DRAFT = 'https://json-schema.org/draft/2020-12/schema'

const print = (value: object): void => void process.stdout.write(`${JSON.stringify(value, null, 2)}\n`)

/** `edged schema`: the schemas of the configuration file, the API and what webhooks are sent. */
export const schema: DefineCommand = (command) => {
  command
    .command('config')
    .description('the JSON Schema of the configuration file')
    .option('--yaml', 'a configuration file with every option, its default and what it does')
    .action(({ yaml }: { yaml?: boolean }) => {
      if (yaml) return void process.stdout.write(documented(ConfigFile))
      print({ $schema: DRAFT, title: 'edged configuration', ...forEditors(ConfigFile) })
    })
  command
    .command('pipeline')
    .description('the JSON Schema of a pipeline file')
    .option('--markdown', 'print the reference of the documentation (docs/pipelines.md) instead')
    .action(({ markdown }: { markdown?: boolean }) => {
      if (markdown) return void process.stdout.write(`${stageTable()}\n${pipelineManual()}`)
      print({ $schema: DRAFT, title: 'edged pipeline', ...forEditors(PipelineFile) })
    })
  command
    .command('openapi')
    .description('the OpenAPI document of the API')
    .action(async () => print(openapiDocument(await everyEndpoint())))
  command
    .command('destinations')
    .description('the JSON Schema of the parameters of every log destination')
    .option('--markdown', 'print the table of the documentation (docs/logpush.md) instead')
    .action(({ markdown }: { markdown?: boolean }) => {
      if (markdown) return void process.stdout.write(destinationTable(SINKS.values()))
      print({ $schema: DRAFT, title: 'edged destinations', ...destinationSchemas(SINKS.values()) })
    })
  command
    .command('webhook-payload')
    .description('the JSON Schema, with examples, of what webhooks are sent')
    .option('--test', 'of test deliveries')
    .action(({ test }: { test?: boolean }) => print({ $schema: DRAFT, ...(test ? TestPayload : WebhookPayload) }))
}
