/** Reads the configuration file in a thread, and sends the result in parts. */
import { BadConfig, readParts } from '../../config/load.js'
import { systemClock } from '../../core/clock.js'
import { silentLog } from '../../core/log.js'
import { destinationChecks } from '../pipelines/destinations.js'
import { modulesOf } from '../pipelines/transforms.js'
import { describedText } from './changes.js'
import type { ConfigMessage, ConfigToRead } from './reader.js'

/** Zones of one message: a millisecond of the thread that receives it. */
const MAX_ZONES = 100

/** Returns the messages of a thread. */
export function* configMessages({ text, file }: Pick<ConfigToRead, 'text' | 'file'>): Generator<ConfigMessage> {
  try {
    const { config, documents } = readParts(
      text,
      file,
      process.env,
      destinationChecks({ clock: systemClock, log: silentLog }),
    )
    const { zones, pipelines, ...rest } = config
    for (let from = 0; from < zones.length; from += MAX_ZONES) yield { zones: zones.slice(from, from + MAX_ZONES) }
    yield { rest, documents, modules: modulesOf(pipelines), described: describedText(pipelines) }
  } catch (error) {
    if (!(error instanceof BadConfig)) throw error
    yield { faults: error.faults }
  }
}
