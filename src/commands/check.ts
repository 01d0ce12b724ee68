import { loadConfig } from '../config/load.js'
import type { AddCommand } from './command.js'

/** `edged check FILE`: every fault of a configuration file as `FILE:LINE:COL: message`. */
export const check: AddCommand = (program) => {
  program
    .command('check')
    .description('validate a configuration file')
    .argument('<file>', 'the file')
    .option('--json', 'print the configuration with every default filled in; secrets are left out')
    .action((file: string, { json }: { json?: boolean }) => {
      const config = loadConfig(file)
      if (!json) return void process.stdout.write(`${file}: ok\n`)
      const { tokens, legacy_keys: legacyKeys, secrets, ...told } = config
      const names = {
        tokens: tokens.map(({ name }) => ({ name })),
        legacy_keys: legacyKeys.map(({ email }) => ({ email })),
        store: told.store.replace(/\/\/[^/]*@/, '//'),
      }
      process.stdout.write(
        `${JSON.stringify({ ...told, secrets: { key_file: secrets.key_file }, ...names }, null, 2)}\n`,
      )
    })
}
