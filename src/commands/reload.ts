import { keptText } from '../daemon/config/kept-rules.js'
import type { ReloadResponse } from '../daemon/state/status.js'
import { ADMIN_HELP, askDaemon, ownDaemon, type AdminOptions } from './common/admin-client.js'
import { Exit, type DefineCommand } from './common/command.js'

/** `edged reload`: the running daemon reads its file again and reports what changed. */
export const reload: DefineCommand = (command) => {
  command
    .option('-c, --config <file>', 'configuration file of the daemon')
    .option('--admin <address>', 'address of its admin listener, for example 127.0.0.1:9901')
    .option('--json', 'print an object with changed and restart_needed')
    .addHelpText('after', `${ADMIN_HELP}\nExit codes: 0 applied, 1 not applied, no daemon or another one responds.`)
    .action(async (options: AdminOptions & { json?: boolean }) => {
      await ownDaemon(options)
      const { status, body } = await askDaemon('POST', '/reload', options)
      const result = body as ReloadResponse
      if (status !== 200 || 'error' in result)
        throw new Exit(1, `not applied, the daemon continues as before: ${'error' in result ? result.error : status}`)
      process.stdout.write(options.json ? `${JSON.stringify(result)}\n` : described(result))
    })
}

function described({
  changed,
  restart_needed: restart,
  kept_rules: kept = [],
}: Exclude<ReloadResponse, { error: string }>): string {
  const notInForce = keptText(kept)
  const lines =
    changed.length === 0
      ? ['reloaded; nothing changed']
      : ['reloaded; changed:', ...changed.map((change) => `  ${change}`)]
  if (notInForce !== undefined) lines.push(notInForce)
  if (restart.length > 0) lines.push('restart the daemon to apply:', ...restart.map((option) => `  ${option}`))
  return `${lines.join('\n')}\n`
}
