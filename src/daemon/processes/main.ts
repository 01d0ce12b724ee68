/**
 * A proxy process: serves clients with the tables that the daemon sends it, until the daemon disconnects it. Its arguments
 * are the plug-ins of the daemon. Node.js keeps messages that arrive before they are loaded.
 */
import { loadPlugins } from '../../plugins/load.js'

process.title = 'edged proxy (spare)'
// They reach the whole process group. The daemon drains its processes, and a reload comes from it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
// The daemon has ended, or this process has finished its requests.
process.on('disconnect', () => process.exit(0))

await loadPlugins(process.argv.slice(2))
const { serveClients } = await import('./serve-clients.js')
serveClients()
