// A pipeline with an http source, in a process of its own. Tells its address, and when asked what it has used so far.
import { systemClock as clock } from '../../dist/src/core/clock.js'
import { silentLog as log } from '../../dist/src/core/log.js'
import { RunStats } from '../../dist/pipelines/sources/intake/run-stats.js'
import { readPipelines } from '../../dist/src/config/pipeline-file.js'
import { destinationChecks } from '../../dist/src/daemon/pipelines/destinations.js'
import { runPipeline } from '../../dist/src/daemon/pipelines/run.js'
import { cpuOf } from './cpu-of.mjs'

const [, , text, file] = process.argv
const [pipeline] = readPipelines(text, file, destinationChecks({ clock, log }))
const stats = new RunStats((place, message) => process.stderr.write(`${place}: ${message}\n`))
const stop = new AbortController()
const tell = (message) => {
  const url = /listening on (\S+)/.exec(message)?.[1]
  if (url !== undefined) process.send({ url })
}
process.on('message', (asked) => {
  if (asked === 'stop') return stop.abort()
  const { user, system } = process.cpuUsage()
  const own = (user + system) / 1e6
  process.send({ own, runtime: Math.max(0, cpuOf(process.pid) - own), delivered: stats.delivered })
})
await runPipeline(pipeline, {
  state: `${file}.state`,
  resume: false,
  stats,
  tell,
  size() {},
  stop: stop.signal,
  clock,
  log,
})
process.disconnect()
