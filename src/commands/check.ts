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
    .addHelpText('after', '\nExit codes: 0 valid; 2 invalid, one line FILE:LINE:COL: MESSAGE per error')
    .action((file: string, { json }: { json?: boolean }) => {
      const text = readText(file)
      const checks = destinationChecks({ clock: systemClock, log: silentLog })
      if (isPipelineFile(text, file)) {
        const pipelines = readPipelines(text, file, checks)
        const report = json
          ? JSON.stringify(
              pipelines.map(({ name }) => ({ name })),
              null,
              2,
            )
          : `${file}: ok`
        return void process.stdout.write(`${report}\n`)
      }
      const config = readConfig(text, file, process.env, checks)
      if (!json) return void process.stdout.write(`${file}: ok\n`)
      const { tokens, legacy_keys: legacyKeys, secrets, ...shown } = config
      const names = {
        tokens: tokens.map(({ name }) => ({ name })),
        legacy_keys: legacyKeys.map(({ email }) => ({ email })),
        pipelines: shown.pipelines.map(({ name }) => ({ name })),
        store: shown.store.replace(/\/\/.*@/, '//'),
      }
      const { dead_letter: deadLetter } = shown.logpush
      const logpush = { ...shown.logpush, ...(deadLetter !== undefined && { dead_letter: redact(deadLetter) }) }
      process.stdout.write(
        `${JSON.stringify({ ...shown, logpush, secrets: { key_file: secrets.key_file }, ...names }, null, 2)}\n`,
      )
    })
}
