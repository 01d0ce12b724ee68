import { readConfig } from '../config/load.js'
import { readText } from '../config/yaml.js'
import { isPipelineFile, readPipelines } from '../config/pipeline-file.js'
import { systemClock } from '../core/clock.js'
import { silentLog } from '../core/log.js'
import { redact } from '../../sinks/index.js'
import { destinationChecks } from '../daemon/destinations.js'
import type { DefineCommand } from './command.js'

/** `edged check FILE`: every fault of a configuration or pipeline file as `FILE:LINE:COL: message`. */
export const check: DefineCommand = (command) => {
  command
    .argument('<file>', 'the file')
    .option(
      '--json',
      'print the configuration with every default filled in, or the names of the pipelines; secrets are left out',
    )
    .addHelpText('after', '\nExit codes: 0 valid, 2 not: each fault is a line FILE:LINE:COL: message.')
    .action((file: string, { json }: { json?: boolean }) => {
      const text = readText(file)
      const checks = destinationChecks({ clock: systemClock, log: silentLog })
      if (isPipelineFile(text, file)) {
        const pipelines = readPipelines(text, file, checks)
        const told = json
          ? JSON.stringify(
              pipelines.map(({ name }) => ({ name })),
              null,
              2,
            )
          : `${file}: ok`
        return void process.stdout.write(`${told}\n`)
      }
      const config = readConfig(text, file, process.env, checks)
      if (!json) return void process.stdout.write(`${file}: ok\n`)
      const { tokens, legacy_keys: legacyKeys, secrets, ...told } = config
      const names = {
        tokens: tokens.map(({ name }) => ({ name })),
        legacy_keys: legacyKeys.map(({ email }) => ({ email })),
        pipelines: told.pipelines.map(({ name }) => ({ name })),
        store: told.store.replace(/\/\/.*@/, '//'),
      }
      const { dead_letter: deadLetter } = told.logpush
      const logpush = { ...told.logpush, ...(deadLetter !== undefined && { dead_letter: redact(deadLetter) }) }
      process.stdout.write(
        `${JSON.stringify({ ...told, logpush, secrets: { key_file: secrets.key_file }, ...names }, null, 2)}\n`,
      )
    })
}
