import { loadPluginsOf } from '../plugins/load.js'
import { configFile, DEFAULT_FILES } from './common/config-file.js'
import type { DefineCommand } from './common/command.js'
import type { ServeOptions } from './serve-daemon.js'

/** `edged serve -c FILE`: the daemon, until a signal ends it. */
export const serve: DefineCommand = (command) => {
  command
    .option('-c, --config <file>', `the configuration file (default: ${DEFAULT_FILES})`)
    .option('--accept-empty-store', 'start although this machine had records in Redis and all of them are gone')
    .option(
      '--accept-data-loss',
      'start although confirmed writes of the embedded store are lost; a copy of it is kept',
    )
    .option('--hints', 'once it is ready, print what to try with the demo, on standard error')
    .addHelpText(
      'after',
      '\nSignals: the first SIGTERM or SIGINT drains and stops, the second stops at once; SIGHUP reads the file again.' +
        '\nExit codes: 0 stopped, 2 the configuration cannot be used, 1 anything else.',
    )
    .action(async (given: Partial<ServeOptions>) => {
      const options: ServeOptions = { ...given, config: configFile(given.config) }
      await loadPluginsOf(options.config)
      const { serveDaemon } = await import('./serve-daemon.js')
      await serveDaemon(options)
    })
}
