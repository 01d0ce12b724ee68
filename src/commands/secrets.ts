import { setTimeout as wait } from 'node:timers/promises'
import { loadConfig } from '../config/load.js'
import { systemClock } from '../core/clock.js'
import { openLog } from '../core/log.js'
import { openStore } from '../store/index.js'
import { KeyRotation, type KeyStatus } from '../store/secrets/key-rotation.js'
import { openVault, secretKeys } from '../store/secrets/vault.js'
import { configFile, DEFAULT_FILES } from './common/config-file.js'
import { Exit, type DefineCommand } from './common/command.js'

/** Machines that stopped without a word are not waited for after 10 s. */
const MAX_WAIT_MS = 20_000
const STEP_MS = 1000

/** `edged secrets rotate`: seals every stored secret under the key that the configuration names now. */
export const secrets: DefineCommand = (command) => {
  command
    .command('rotate')
    .description(
      'encrypt all stored secrets with the current key; a running daemon does this itself while secrets.old_keys names the old one',
    )
    .option(
      '-c, --config <file>',
      `the configuration file of the daemon, which is stopped unless store is Redis (default: ${DEFAULT_FILES})`,
    )
    .addHelpText(
      'after',
      '\nPrints how many were encrypted again as one line of JSON. Exit codes: 0 all of them, 2 the configuration cannot be used,' +
        '\n1 some were not, a machine does not have the key as its first one, or the store cannot be opened.',
    )
    .action(async ({ config: file }: { config?: string }) => {
      const config = loadConfig(configFile(file))
      const log = openLog({ level: 'warn' })
      const store = await openStore(config.store, { folder: config.data, log })
      try {
        const shared = config.store.startsWith('redis')
        const ring = await openVault(store, secretKeys(config), log, { shared })
        const rotation = await KeyRotation.open({
          store,
          ring,
          clock: systemClock,
          log,
          shared: shared ? { self: `edged secrets rotate ${process.pid}`, running: () => [] } : undefined,
        })
        try {
          await finish(rotation)
        } finally {
          await rotation.close()
        }
      } finally {
        await store.close()
      }
    })
}

async function finish(rotation: KeyRotation): Promise<void> {
  const status = await stepped(rotation)
  const { resealed } = rotation.total
  process.stdout.write(`${JSON.stringify({ resealed, failed: status.unreadable })}\n`)
  if (status.waitsFor.length > 0)
    throw new Exit(
      1,
      `these machines do not have key ${status.wanted} as their first one: ${status.waitsFor.join(', ')}`,
    )
  if (status.unreadable > 0)
    throw new Exit(
      1,
      `${status.unreadable} secrets are encrypted with a key that the configuration does not name; add it to secrets.old_keys`,
    )
  if (!status.complete) throw new Exit(1, 'a machine still uses the old key; run the command again')
}

async function stepped(rotation: KeyRotation): Promise<KeyStatus> {
  const until = systemClock.monotonic() + MAX_WAIT_MS
  for (;;) {
    await rotation.step()
    const status = await rotation.status()
    if (status.complete || systemClock.monotonic() >= until) return status
    await wait(STEP_MS)
  }
}
