import type { SendHandle } from 'node:child_process'
import { trimHeap } from '../../core/memory/heap-size.js'
import { Channel } from './channel.js'
import type { DaemonCalls, DaemonChannel, ProcessCalls } from './protocol.js'
import { ServingProcess } from './serving-process.js'

/** Serves clients with the tables that the daemon sends. */
export function serveClients(): void {
  const serving = new ServingProcess((): DaemonChannel => channel)
  const channel = new Channel<DaemonCalls, ProcessCalls>(
    { send: (message: object, handle?: SendHandle) => void process.send?.(message, handle, {}, () => undefined) },
    serving.handlers,
  )
  process.on('message', (message, handle: SendHandle | undefined) => channel.receive(message as object, handle))
  trimHeap()
}
