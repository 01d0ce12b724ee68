import { loadPluginsOf } from '../plugins/load.js'
import type { DefineCommand } from './common/command.js'

/** `edged check FILE`: every fault of a configuration or pipeline file as `FILE:LINE:COL: message`. */
export const check: DefineCommand = (command) => {
  command
    .argument('<file>', 'the file')
    .option(
      '--json',
      'print the configuration with every default filled in, or the names of the pipelines; secrets are left out',
    )
    .addHelpText('after', '\nExit codes: 0 valid; 2 invalid, one line FILE:LINE:COL: MESSAGE per error')
    .action(async (file: string, options: { json?: boolean }) => {
      await loadPluginsOf(file)
      const { checkFile } = await import('./check-file.js')
      checkFile(file, options)
    })
}
