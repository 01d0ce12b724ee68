import { setTimeout as wait } from 'node:timers/promises'
import { ADMIN_HELP, askText, ownDaemon, type AdminOptions } from './common/admin-client.js'
import type { DefineCommand } from './common/command.js'
import { topOf, topText, type Top } from './top-view.js'

const INTERVAL_MS = 2000
const CLEAR = '\u001b[H\u001b[2J\u001b[3J'

/** `edged top`: traffic and state of the running daemon, again and again on a terminal. */
export const top: DefineCommand = (command) => {
  command
    .option('-c, --config <file>', 'configuration file of the daemon')
    .option('--admin <address>', 'address of its admin listener, for example 127.0.0.1:9901')
    .option('--once', 'print the totals since the start once; the default if the output is not a terminal')
    .option('--json', 'print one object, with totals since the start')
    .addHelpText('after', `${ADMIN_HELP}\nExit codes: 0 shown, 1 no daemon or another one responds.`)
    .action(async (options: AdminOptions & { once?: boolean; json?: boolean }) => {
      if (options.json) return void process.stdout.write(`${JSON.stringify(await read(options))}\n`)
      if (options.once || !process.stdout.isTTY) return void process.stdout.write(topText(await read(options)))
      let before: Top | undefined
      for (;;) {
        const now = await read(options)
        process.stdout.write(`${CLEAR}${topText(now, before)}\nCtrl+C ends it.\n`)
        before = now
        await wait(INTERVAL_MS)
      }
    })
}

async function read(options: AdminOptions): Promise<Top> {
  const [status, metrics] = await Promise.all([ownDaemon(options), askText('/metrics', options)])
  return topOf(status, metrics, Date.now())
}
