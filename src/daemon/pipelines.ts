/** The pipelines of the configuration that bring their own records: each is run as `edged run --resume` would run it. */
import { join } from 'node:path'
import { RunStats } from '../../pipelines/sources/run-stats.js'
import type { ConfiguredJob } from '../../pipelines/logpush/job-manager.js'
import { openSink } from '../../sinks/index.js'
import type { Config } from '../config/schema.js'
import type { Pipeline } from '../config/pipeline.js'
import type { Clock } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import type { Log } from '../core/log.js'
import { account, zone, type Scope } from '../core/scope.js'
import { ownDestinations } from './destinations.js'
import { runPipeline } from './pipeline-run.js'

interface Deps {
  readonly clock: Clock
  readonly log: Log
}

/** Whose records a pipeline takes, where they are the daemon's own. */
function ownScope({ source }: Pipeline): Scope | undefined {
  if ('zone' in source) return zone(source.zone)
  return 'account' in source ? account(source.account) : undefined
}

/** The pipelines that take what the daemon itself records, as jobs. Destinations may be all that those of files may be. */
export function configuredJobs({ pipelines }: Config, deps: Deps): ConfiguredJob[] {
  return pipelines.flatMap((pipeline) => {
    const scope = ownScope(pipeline)
    if (scope === undefined) return []
    const { name, job, destination_conf: destination, dead_letter: deadLetter } = pipeline
    const sinkDeps = ownDestinations(deps, deadLetter === undefined ? [destination] : [destination, deadLetter])
    const open = (text: string) => openSink(text, sinkDeps)
    return [{ name, scope, settings: job.settings, destination, deadLetter, open }]
  })
}

/** Pipelines that run beside the daemon. */
export interface RunningPipelines {
  /** Ends them; what they have taken and not delivered is kept, and goes out after the next start. */
  close(): Promise<void>
}

/** One that has given up, or that could not go on, as on a full disk or without its input, begins again after this time. */
const PAUSE_MS = 60_000

/** Starts the other pipelines. What becomes of them is told in the log; none keeps the daemon from running. */
export function startPipelines({ data, pipelines }: Config, { clock, log }: Deps): RunningPipelines {
  const stopping = new AbortController()
  const { signal: stop } = stopping
  const state = join(data, 'pipelines')

  const runOne = async (pipeline: Pipeline): Promise<void> => {
    const { name } = pipeline
    while (!stop.aborted) {
      const stats = new RunStats((place, message) =>
        log.debug({ event: 'pipeline_invalid_record', name, place, message }),
      )
      const tell = (message: string) => log.info({ event: 'pipeline', name }, message)
      const options = { state, resume: true, stats, tell, size: () => {}, stop, clock, log }
      try {
        const end = await runPipeline(pipeline, options)
        const { read, rejected, delivered, dropped } = stats
        log[end.end === 'gave_up' ? 'error' : 'info']({
          event: 'pipeline_ended',
          name,
          ...end,
          read,
          rejected,
          delivered,
          dropped,
        })
        if (end.end !== 'gave_up') return
      } catch (error) {
        log.error({ event: 'pipeline_failed', name, error: messageOf(error), again_ms: PAUSE_MS })
      }
      await clock.sleep(PAUSE_MS, stop).catch(() => {})
    }
  }

  const running = pipelines.filter((pipeline) => ownScope(pipeline) === undefined).map(runOne)
  return {
    async close() {
      stopping.abort()
      await Promise.all(running)
    },
  }
}
