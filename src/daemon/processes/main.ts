/** A proxy process: serves clients with the tables that the daemon sends it, until the daemon disconnects it. */
import type { SendHandle } from 'node:child_process'
import { trimHeap } from '../../core/heap-size.js'
import { Channel } from './channel.js'
import type { DaemonCalls, DaemonChannel, ProcessCalls } from './protocol.js'
import { ServingProcess } from './serving-process.js'

process.title = 'edged proxy (spare)'
// They reach the whole process group. The daemon drains its processes, and a reload comes from it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)

const serving = new ServingProcess((): DaemonChannel => channel)
const channel = new Channel<DaemonCalls, ProcessCalls>(
  { send: (message: object, handle?: SendHandle) => void process.send?.(message, handle, {}, () => undefined) },
  serving.handlers,
)
process.on('message', (message, handle: SendHandle | undefined) => channel.receive(message as object, handle))
// The daemon has ended, or this process has finished its requests.
process.on('disconnect', () => process.exit(0))
trimHeap()
