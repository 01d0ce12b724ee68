import { resolve } from 'node:path'
import { loadPluginsOf } from '../plugins/load.js'
import type { DefineCommand } from './common/command.js'
import type { ReplayOptions } from './replay-file.js'

/** `edged replay FILE -c FILE`: sends a dead letter file to a destination again. */
export const replay: DefineCommand = (command) => {
  command
    .argument('<file>', 'the dead letter file, gzip or not')
    .option(
      '-c, --config <file>',
      'pipeline file, or configuration of the daemon, with the pipeline whose records they are',
    )
    .option('--pipeline <name>', 'the pipeline, or PIPELINE/ROUTE, if it cannot be found by its dead_letter')
    .option('--destination <destination>', 'send to this destination instead, as in destination_conf')
    .option('--retry-for <seconds>', 'end if the destination fails for this long', '600')
    .addHelpText(
      'after',
      '\nRecords that are rejected again are written to FILE.failed. The progress is stored in the folder FILE.replay: the same\n' +
        'command continues there, and after the end it sends nothing again; to another destination all is sent. Prints a\n' +
        'summary as one line of JSON.\n' +
        'Exit codes: 0 all delivered, 2 a file cannot be used, 5 records undelivered, or the file is damaged.',
    )
    .action(async (file: string, options: ReplayOptions) => {
      if (options.config !== undefined) await loadPluginsOf(options.config)
      const { replayFile } = await import('./replay-file.js')
      await replayFile(resolve(file), options)
    })
}
