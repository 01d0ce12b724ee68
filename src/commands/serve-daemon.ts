import { resolve } from 'node:path'
import { loadConfig } from '../config/load.js'
import { systemClock } from '../core/clock.js'
import { openLog, silentLog, type Log } from '../core/log.js'
import { trimHeap } from '../core/memory/heap-size.js'
import { readAgain } from '../daemon/config/reader.js'
import { ActivatedSockets } from '../daemon/processes/socket-activation.js'
import { StartStopped } from '../daemon/open-store.js'
import { startDaemon, type Daemon } from '../daemon/index.js'
import { destinationChecks } from '../daemon/pipelines/destinations.js'

const CHECKS = destinationChecks({ clock: systemClock, log: silentLog })

export interface ServeOptions {
  readonly config: string
  readonly hints?: boolean
  readonly acceptEmptyStore?: boolean
  readonly acceptDataLoss?: boolean
}

/** Serves until a signal ends the daemon. */
export async function serveDaemon({
  config: file,
  hints,
  acceptEmptyStore = false,
  acceptDataLoss = false,
}: ServeOptions): Promise<void> {
  const config = loadConfig(file, process.env, CHECKS)
  const log = openLog(config.log)
  trimHeap()
  // Before the start: the first process of a container ignores a signal that it does not handle.
  const stopping = new AbortController()
  const stopped = stopSignal(log).then(() => stopping.abort())
  let running: Daemon | undefined
  let isReloadWanted = false
  // Without a handler the signal ends the process: it is set before anybody can know that the daemon runs.
  process.on('SIGHUP', () => {
    isReloadWanted = running === undefined
    // The outcome is in the log.
    running?.reloadFile().catch(() => undefined)
  })
  const daemon = await startDaemon(config, {
    log,
    accepted: { acceptEmpty: acceptEmptyStore, acceptLoss: acceptDataLoss },
    activated: new ActivatedSockets(process.env),
    file: { path: resolve(file), read: async (inForce) => await readAgain(file, inForce) },
    signal: stopping.signal,
  }).catch((error: unknown) => {
    if (error instanceof StartStopped) return undefined
    throw error
  })
  if (!daemon) return log.info({ event: 'stopped' }, 'stopped')
  const { proxy, proxyTls, control, admin } = daemon
  const urls = { proxy, ...(proxyTls !== undefined && { proxy_tls: proxyTls }), control, admin }
  log.info({ event: 'ready', ...urls }, `proxy ${proxyTls ?? proxy}, api ${control}, admin ${admin}`)
  if (hints) process.stderr.write(thingsToTry(daemon))
  running = daemon
  if (isReloadWanted) process.emit('SIGHUP', 'SIGHUP')
  await stopped
  await daemon.close()
  log.info({ event: 'stopped' }, 'stopped')
}

const DEMO_TOKEN = 'demo-token-for-loopback-only'
const isTokenSet = () => Boolean(process.env['EDGED_ADMIN_TOKEN'])

/** For the demo: its site, and the token that its configuration names. */
const thingsToTry = ({ proxy, control, admin }: Daemon): string => `
Try:
  curl -H 'Accept: text/markdown' ${proxy}/               a page in Markdown
  curl -H 'Accept: text/markdown' ${proxy}/signals.html   tables, ${proxy}/api.html code
  curl -i ${proxy}/                                       the same page as browsers get it
  ${control.replace(/\/client\/v4$/, '/ui/')}                             the dashboard; its token is ${isTokenSet() ? 'that of EDGED_ADMIN_TOKEN' : DEMO_TOKEN}
  curl -H "Authorization: Bearer \${EDGED_ADMIN_TOKEN:-${DEMO_TOKEN}}" ${control}/zones   the API
  curl ${admin}/readyz

`

function stopSignal(log: Log): Promise<void> {
  return new Promise((resolve) => {
    const stop = (signal: NodeJS.Signals) => {
      log.info({ event: 'draining', signal }, 'finishing requests in progress; the same signal again stops at once')
      for (const again of ['SIGTERM', 'SIGINT'] as const) {
        process.removeAllListeners(again)
        process.once(again, () => process.exit(1))
      }
      resolve()
    }
    process.once('SIGTERM', stop)
    process.once('SIGINT', stop)
  })
}
