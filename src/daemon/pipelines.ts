/** Pipelines of the configuration with their own records: each runs like `edged run --resume`. */
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

/** Returns the scope of the daemon's own records that a pipeline reads. */
function ownScope({ source }: Pipeline): Scope | undefined {
  if ('zone' in source) return zone(source.zone)
  return 'account' in source ? account(source.account) : undefined
}

/** Returns pipelines of the daemon's own records, as jobs. Their destinations have the rules of pipeline files. */
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

/** Pipelines that run in the daemon. */
export interface RunningPipelines {
  /** Stops them; records that were read and not delivered are stored and sent after the next start. */
  close(): Promise<void>
}

/** Delay before a stopped pipeline starts again, for example after a full disk or without its input. */
const PAUSE_MS = 60_000

/** Starts the other pipelines. Logs their outcome; a failing pipeline does not stop the daemon. */
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
