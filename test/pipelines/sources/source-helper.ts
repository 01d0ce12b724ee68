import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { RunStats } from '../../../pipelines/sources/intake/run-stats.js'
import { readPipelines } from '../../../src/config/pipeline-file.js'
import { systemClock as clock } from '../../../src/core/clock.js'
import { silentLog as log } from '../../../src/core/log.js'
import { destinationChecks } from '../../../src/daemon/pipelines/destinations.js'
import { runPipeline } from '../../../src/daemon/pipelines/run.js'

const checks = destinationChecks({ clock, log })

/** Creates a pipeline of a source that writes the members `RayID` and `EdgeResponseStatus` of its records to files. */
export function sourceRun(folder: string, source: object, more = '', name = 'p', to = 'file:out') {
  const text = `name: ${name}
source: ${JSON.stringify(source)}
dataset: http_requests
output_options: { output_type: csv, field_names: [RayID, EdgeResponseStatus] }
destination_conf: ${to}
on_invalid: skip
${more}`
  const [pipeline] = readPipelines(text, join(folder, 'p.yaml'), checks, {})
  const rejected: string[] = []
  const messages: string[] = []
  const stats = new RunStats((place, message) => rejected.push(`${place}: ${message}`))
  const stopping = new AbortController()
  let listens: (url: string) => void
  const listening = new Promise<string>((resolve) => (listens = resolve))
  const tell = (message: string) => {
    messages.push(message)
    if (message.includes('listening on')) listens(message.split(' ').at(-1)!)
  }
  const run = async () => {
    // Waits of the product do not keep a process alive.
    const alive = setInterval(() => {}, 2 ** 30)
    const options = { state: join(folder, 'state'), resume: true, stats, tell, size() {}, stop: stopping.signal }
    try {
      return await runPipeline(pipeline!, { ...options, clock, log })
    } finally {
      clearInterval(alive)
    }
  }
  /** Resolves when that many records were read, invalid ones included. */
  const read = async (count: number) => {
    while (stats.read < count) await setTimeout(10)
  }
  return { run, stats, rejected, messages, listening, read, stop: () => stopping.abort() }
}

/** Returns the lines of all files below the destination, sorted. */
export const lines = (folder: string): string[] =>
  readdirSync(join(folder, 'out'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .flatMap(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8').split('\n'))
    .filter((line) => line !== '')
    .sort()

export const recordOf = (id: string, status = 200): string => JSON.stringify({ RayID: id, EdgeResponseStatus: status })
