import { loadConfig } from '../config/load.js'
import { openLog } from '../core/log.js'
import { openStore } from '../store/index.js'
import { openVault, rotate, secretKeys } from '../store/vault.js'
import { Exit, type DefineCommand } from './command.js'

/** `edged secrets rotate`: seals every stored secret under the key that the configuration names now. */
export const secrets: DefineCommand = (command) => {
  command
    .command('rotate')
    .description(
      'encrypt all stored secrets again with the current key; keep the old one in secrets.old_keys until this has finished',
    )
    .requiredOption('-c, --config <file>', 'the configuration file of the daemon, which is stopped')
    .addHelpText(
      'after',
      '\nPrints how many were sealed anew as one line of JSON. Exit codes: 0 all of them, 2 the configuration cannot be used,' +
        '\n1 some were not, or the store cannot be opened.',
    )
    .action(async ({ config: file }: { config: string }) => {
      const config = loadConfig(file)
      const log = openLog({ level: 'warn' })
      const store = await openStore(config.store, { folder: config.data, log })
      try {
        const { resealed, failed } = await rotate(store, await openVault(store, secretKeys(config), log))
        process.stdout.write(`${JSON.stringify({ resealed, failed })}\n`)
        if (failed > 0)
          throw new Exit(1, `${failed} secrets were sealed under a key that the configuration does not name`)
      } finally {
        await store.close()
      }
    })
}
