import { loadPluginsOf } from '../plugins/load.js'
import type { DefineCommand } from './common/command.js'

/** `edged run FILE`: pipelines of a file, until their input ends. */
export const run: DefineCommand = (command) => {
  command
    .argument('<file>', 'the pipeline file')
    .option('--resume', 'continue an earlier run with the same batches, or send what was added since it finished')
    .option('--state <folder>', 'folder of the state that --resume needs (default: FILE.state)')
    .addHelpText(
      'after',
      '\nPrints a summary as one line of JSON. Exit codes: 0 all delivered, 2 the file or its input cannot be used,\n' +
        '5 records undelivered or invalid, or input damaged. The first SIGINT or SIGTERM ends a listener or a followed file, and stops at a\n' +
        'batch elsewhere; the second stops at once. SIGHUP reads the modules of transforms again, except in a terminal.',
    )
    .action(async (file: string, { resume = false, state }: { resume?: boolean; state?: string }) => {
      await loadPluginsOf(file)
      const { runFile } = await import('./run-file.js')
      await runFile(file, { resume, state: state ?? `${file}.state` })
    })
}
