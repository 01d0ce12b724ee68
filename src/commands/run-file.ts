import { pino } from 'pino'
import type { RunEnd } from '../../pipelines/run/run.js'
import { StateInUse } from '../../pipelines/run/run-lock.js'
import { NoInput } from '../../pipelines/sources/files/paths.js'
import { RunStats } from '../../pipelines/sources/intake/run-stats.js'
import { outputName, type Pipeline } from '../config/pipeline.js'
import { loadPipelines } from '../config/pipeline-file.js'
import { systemClock } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import { destinationChecks } from '../daemon/pipelines/destinations.js'
import { runPipeline, stateFolder } from '../daemon/pipelines/run.js'
import { modulesOf, Transforms } from '../daemon/pipelines/transforms.js'
import { Exit } from './common/command.js'
import { showProgress } from './common/progress.js'
import { renewAtHangup } from './renew-modules.js'

/** Maximum number of invalid records that are reported one by one. */
const MAX_REPORTED = 10

interface Failed {
  readonly end: 'failed'
  readonly message: string
  readonly code: number
  /** Whether `--resume` helps. */
  readonly canResume: boolean
}

interface Ran {
  readonly pipeline: Pipeline
  readonly stats: RunStats
  readonly end: RunEnd | Failed
}

/** Runs the pipelines of a file until their input ends, and prints a summary. Throws an Exit if records are undelivered. */
export async function runFile(file: string, { resume, state }: { resume: boolean; state: string }): Promise<void> {
  const clock = systemClock
  const log = pino({ level: 'error', base: null }, pino.destination({ dest: 2, sync: true }))
  const pipelines = loadPipelines(file, destinationChecks({ clock, log }))
  const stopping = new AbortController()
  const stop = () => (stopping.signal.aborted ? process.exit(1) : stopping.abort())
  process.on('SIGINT', stop).on('SIGTERM', stop)

  // Waits do not keep a process alive by themselves.
  const alive = setInterval(() => {}, 2 ** 30)
  const begin = clock.monotonic()
  let reported = 0
  const progress = showProgress(process.stderr)
  const tell = (message: string) => progress.above(() => process.stderr.write(`edged: ${message}\n`))
  const runs = pipelines.map(
    () =>
      new RunStats(
        (place, message) => {
          if (++reported <= MAX_REPORTED) tell(`${place}: ${message}`)
          else if (reported === MAX_REPORTED + 1) tell('more invalid records are only counted')
        },
        (place, message) => tell(`${place} ${message}`),
      ),
  )
  const transforms = new Transforms(clock)
  const endRenewal = renewAtHangup(modulesOf(pipelines), transforms, tell)
  progress.start(runs)
  const ran = await Promise.all(
    pipelines.map(async (pipeline, index): Promise<Ran> => {
      const stats = runs[index]!
      const options = { state, resume, stats, tell, size: progress.size, stop: stopping.signal, transforms, clock, log }
      try {
        return { pipeline, stats, end: await runPipeline(pipeline, options) }
      } catch (error) {
        const code = error instanceof NoInput ? 2 : 5
        const canResume = code === 5 && !(error instanceof StateInUse)
        return { pipeline, stats, end: { end: 'failed', message: messageOf(error), code, canResume } }
      }
    }),
  )
  progress.stop()
  clearInterval(alive)
  process.off('SIGINT', stop).off('SIGTERM', stop)
  endRenewal()

  const seconds = Math.round(clock.monotonic() - begin) / 1000
  // If records go to standard output, the summary must not be among them.
  const out = pipelines.some(({ outputs }) => outputs.some(({ destination_conf: to }) => to.startsWith('stdout:')))
    ? process.stderr
    : process.stdout
  out.write(`${JSON.stringify({ ...totals(runs), seconds, ...each(ran) })}\n`)
  if (resume) for (const message of ran.flatMap(idleOf)) tell(message)
  judge(ran, state)
}

/** Says that a finished run had nothing to go on with: its summary has zeros only. */
const idleOf = ({ pipeline, stats, end }: Ran): string[] =>
  end.end === 'done' && stats.read === 0 && stats.delivered === 0 && stats.dropped === 0
    ? [`${pipeline.name}: --resume found no new records, so nothing was sent`]
    : []

const MEMBERS = [
  'read',
  'rejected',
  'kept',
  'delivered',
  'dropped',
  'losses',
  'lost',
  'damaged',
  'batches',
  'bytes',
] as const

const totals = (runs: readonly RunStats[]): Record<string, number> =>
  Object.fromEntries(MEMBERS.map((member) => [member, runs.reduce((sum, stats) => sum + stats[member], 0)]))

const OUTPUT_MEMBERS = ['kept', 'delivered', 'dropped', 'batches', 'bytes'] as const

/** Of several pipelines also what each one did, and of routes what each one did. */
function each(ran: readonly Ran[]): object {
  const [first] = ran
  if (first !== undefined && ran.length < 2) return routesOf(first)
  const pipelines = ran.map((one) => ({ name: one.pipeline.name, ...totals([one.stats]), ...routesOf(one) }))
  return { pipelines }
}

function routesOf({ pipeline, stats }: Ran): object {
  if (pipeline.routes === undefined) return {}
  const routes = pipeline.outputs.map(({ route }) => {
    const output = stats.output(route)
    return { name: route, ...Object.fromEntries(OUTPUT_MEMBERS.map((member) => [member, output[member]])) }
  })
  return { routes }
}

/** Ends with what is left to do, if anything is. */
function judge(ran: readonly Ran[], state: string): void {
  const issues = ran.flatMap(({ pipeline, stats, end }): [code: number, message: string][] => {
    const { name } = pipeline
    const kept = `undelivered records are kept; --resume continues (state in ${stateFolder(state, pipeline)})`
    if (end.end === 'failed') return [[end.code, `${name}: ${end.message}${end.canResume ? `; ${kept}` : ''}`]]
    if (end.end === 'gave_up') return [[5, `${name}: ${end.message}; ${kept}`]]
    if (end.end === 'stopped') return [[5, `${name}: stopped; ${kept}`]]
    if (stats.damaged > 0) return [[5, damagedOf(name, stats.damaged)]]
    if (stats.losses > 0)
      return [[5, `${name}: records were lost, or may be, before they were read; see the messages above`]]
    if (stats.dropped > 0) return droppedOf(pipeline, stats).map((message) => [5, message])
    if (stats.rejected > 0 && pipeline.on_invalid !== 'skip')
      return [[5, `${name}: ${stats.rejected} invalid records were left out; on_invalid: skip allows that`]]
    return []
  })
  if (issues.length === 0) return
  throw new Exit(Math.max(...issues.map(([code]) => code)), issues.map(([, message]) => message).join('\nedged: '))
}

const damagedOf = (name: string, count: number): string =>
  `${name}: ${count} damaged ${count === 1 ? 'input was' : 'inputs were'} read up to the damage; see the messages above`

const droppedOf = (pipeline: Pipeline, stats: RunStats): string[] =>
  pipeline.outputs.flatMap((output) => {
    const { dropped } = stats.output(output.route)
    const advice = output.dead_letter === undefined ? '; dead_letter would keep them' : ''
    const why = `too large, or refused for what is in them${advice}`
    return dropped === 0 ? [] : [`${outputName(pipeline, output)}: ${dropped} records were dropped: ${why}`]
  })
