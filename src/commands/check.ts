import { loadPluginsOf } from '../plugins/load.js'
import { configFile, DEFAULT_FILES } from './common/config-file.js'
import { Exit, type DefineCommand } from './common/command.js'

/** `edged check FILE`: every fault of a configuration or pipeline file as `FILE:LINE:COL: message`. */
export const check: DefineCommand = (command) => {
  command
    .argument('[file]', `the file (default: ${DEFAULT_FILES})`)
    .option('-c, --config <file>', 'the file, as other commands take it')
    .option(
      '--json',
      'print the configuration with every default filled in, or the names of the pipelines; secrets are left out',
    )
    .addHelpText('after', '\nExit codes: 0 valid; 2 invalid, one line FILE:LINE:COL: MESSAGE per error')
    .action(async (given: string | undefined, { config, ...options }: { config?: string; json?: boolean }) => {
      if (given !== undefined && config !== undefined && given !== config)
        throw new Exit(1, `check takes one file; ${given} and -c ${config} are two`)
      const file = configFile(given ?? config)
      await loadPluginsOf(file)
      const { checkFile } = await import('./check-file.js')
      checkFile(file, options)
    })
}
