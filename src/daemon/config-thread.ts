/** A thread that reads the configuration file: see `config-reader.ts`. */
import { parentPort, workerData } from 'node:worker_threads'
import { BadConfig, readParts } from '../config/load.js'
import { systemClock } from '../core/clock.js'
import { silentLog } from '../core/log.js'
import { describedText } from './config-changes.js'
import type { ConfigMessage, ConfigToRead } from './config-reader.js'
import { destinationChecks } from './destinations.js'

/** Zones of one message: a millisecond of the thread that receives it. */
const MAX_ZONES = 100

function* messages({ text, file }: ConfigToRead): Generator<ConfigMessage> {
  try {
    const { config, documents } = readParts(
      text,
      file,
      process.env,
      destinationChecks({ clock: systemClock, log: silentLog }),
    )
    const { zones, pipelines, ...rest } = config
    for (let from = 0; from < zones.length; from += MAX_ZONES) yield { zones: zones.slice(from, from + MAX_ZONES) }
    yield { rest, documents, described: describedText(pipelines) }
  } catch (error) {
    if (!(error instanceof BadConfig)) throw error
    yield { faults: error.faults }
  }
}

const { port, ...given } = workerData as ConfigToRead
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- between threads there are no origins
for (const message of messages({ port, ...given })) port.postMessage(message)
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- as above
parentPort?.postMessage('done')
