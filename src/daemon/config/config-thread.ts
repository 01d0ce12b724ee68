/** A thread that reads the configuration file: see `reader.ts`. */
import { parentPort, workerData } from 'node:worker_threads'
import { loadPlugins } from '../../plugins/load.js'
import type { ConfigToRead } from './reader.js'

const { port, plugins, ...given } = workerData as ConfigToRead
await loadPlugins(plugins)
const { configMessages } = await import('./config-messages.js')
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- between threads there are no origins
for (const message of configMessages(given)) port.postMessage(message)
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- as above
parentPort?.postMessage('done')
