import { loadPluginsOf } from '../plugins/load.js'
import type { DefineCommand } from './common/command.js'

/** `edged test FILE`: runs the tests in a pipeline file. Nothing is sent. */
export const test: DefineCommand = (command) => {
  command
    .argument('<file>', 'the pipeline file')
    .addHelpText('after', '\nExit codes: 0 all passed, 1 some did not, 2 the file cannot be used.')
    .action(async (file: string) => {
      await loadPluginsOf(file)
      const { testFile } = await import('./test-file.js')
      await testFile(file)
    })
}
