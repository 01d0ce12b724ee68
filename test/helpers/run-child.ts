/** `run-child.ts FILE STATE`: runs the pipeline of a file with --resume until it is killed or ended by SIGTERM. */
import { readFileSync } from 'node:fs'
import { RunStats } from '../../pipelines/sources/intake/run-stats.js'
import { readPipelines } from '../../src/config/pipeline-file.js'
import { systemClock as clock } from '../../src/core/clock.js'
import { silentLog as log } from '../../src/core/log.js'
import { destinationChecks } from '../../src/daemon/pipelines/destinations.js'
import { runPipeline } from '../../src/daemon/pipelines/run.js'

const [, , file = '', state = ''] = process.argv
const [pipeline] = readPipelines(readFileSync(file, 'utf8'), file, destinationChecks({ clock, log }))
const stopping = new AbortController()
process.on('SIGTERM', () => stopping.abort())
const alive = setInterval(() => {}, 2 ** 30)
const print = (message: string) => void process.stdout.write(`${message}\n`)
const tally = new RunStats(() => {})
await runPipeline(pipeline!, {
  state,
  resume: true,
  stats: tally,
  tell: print,
  size: () => {},
  stop: stopping.signal,
  clock,
  log,
})
clearInterval(alive)
print(`losses=${tally.losses}`)
