import { basicEndpoints } from '../../control/index.js'
import { openapiDocument } from '../../control/openapi.js'
import { documented } from '../config/document.js'
import { ConfigFile } from '../config/schema.js'
import { systemClock } from '../core/clock.js'
import { silentLog } from '../core/log.js'
import { openStore } from '../store/index.js'
import { readConfig } from '../config/load.js'
import type { AddCommand } from './command.js'

/** `edged schema config`: the JSON Schema of the configuration file. */
export const schema: AddCommand = (program) => {
  const command = program.command('schema').description('print the schemas that edged validates with')
  command
    .command('config')
    .description('the JSON Schema of the configuration file')
    .option('--yaml', 'a configuration file with every option, its default and what it does')
    .action(({ yaml }: { yaml?: boolean }) => {
      if (yaml) return void process.stdout.write(documented(ConfigFile))
      const head = { $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'edged configuration' }
      process.stdout.write(`${JSON.stringify({ ...head, ...ConfigFile }, null, 2)}\n`)
    })
  command
    .command('openapi')
    .description('the OpenAPI document of the API')
    .action(async () => {
      const config = readConfig('', 'edged.yaml', {})
      const store = await openStore('memory', { folder: config.data, log: silentLog })
      const endpoints = basicEndpoints({
        config: () => config,
        store,
        clock: systemClock,
        log: silentLog,
        trace: () => undefined,
      })
      process.stdout.write(`${JSON.stringify(openapiDocument(endpoints), null, 2)}\n`)
    })
}
