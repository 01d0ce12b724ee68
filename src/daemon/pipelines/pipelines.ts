/** Pipelines of the configuration with their own records: each runs like `edged run --resume`. */
import { join } from 'node:path'
import { RunStats } from '../../../pipelines/sources/intake/run-stats.js'
import type { ConfiguredJob } from '../../../pipelines/logpush/job-manager.js'
import type { PipelineMonitor, PipelineState, Progress, Watched } from '../../../pipelines/logpush/monitor.js'
import { openSink, redact } from '../../../sinks/index.js'
import type { Config } from '../../config/schema.js'
import type { Pipeline, PipelineOutput } from '../../config/pipeline.js'
import type { Clock } from '../../core/clock.js'
import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import { account, zone, type Scope } from '../../core/scope.js'
import { ownDestinations } from './destinations.js'
import { runPipeline } from './run.js'
import type { Transforms } from './transforms.js'

interface Deps {
  readonly clock: Clock
  readonly log: Log
}

const IDLE: Progress = { lagRecords: 0, lagSeconds: 0, inFlight: 0 }

/** Shows an output of a pipeline with a source outside the daemon. */
const watched = (
  { name, source, dataset }: Pipeline,
  { route, job, destination_conf: destination }: PipelineOutput,
  {
    stats,
    shown,
  }: { readonly stats: RunStats; readonly shown: { readonly state: PipelineState; readonly error: string | null } },
): Watched => {
  const output = stats.output(route)
  return {
    kind: 'pipeline',
    name,
    route,
    dataset,
    source: Object.keys(source)[0] ?? '',
    destination: redact(destination),
    scope: undefined,
    settings: job.settings,
    tap: output.tap,
    counts: {
      get read() {
        return stats.read
      },
      get invalid() {
        return stats.rejected
      },
      get losses() {
        return stats.losses
      },
      get lost() {
        return stats.lost
      },
      get kept() {
        return output.kept
      },
      get sampledOut() {
        return output.sampledOut
      },
      get repeated() {
        return output.repeated
      },
      get delivered() {
        return output.delivered
      },
      get dropped() {
        return output.dropped
      },
      get retried() {
        return output.retried
      },
      get bytes() {
        return output.bytes
      },
      get transform() {
        return output.transform
      },
      get parquet() {
        return output.parquet
      },
    },
    progress: () => output.progress?.() ?? IDLE,
    state: () => (shown.state === 'running' && output.failure !== undefined ? 'failing' : shown.state),
    error: () => output.failure ?? shown.error,
  }
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
    return pipeline.outputs.map(({ route, job, destination_conf: destination, dead_letter: deadLetter }) => {
      const sinkDeps = ownDestinations(deps, deadLetter === undefined ? [destination] : [destination, deadLetter])
      const open = (text: string) => openSink(text, sinkDeps)
      return { name: pipeline.name, route, scope, settings: job.settings, destination, deadLetter, open }
    })
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
export function startPipelines(
  { data, pipelines }: Config,
  {
    clock,
    log,
    monitor,
    transforms,
  }: Deps & { readonly monitor: PipelineMonitor; readonly transforms?: Transforms | undefined },
): RunningPipelines {
  const stopping = new AbortController()
  const { signal: stop } = stopping
  const state = join(data, 'pipelines')

  const runOne = async (pipeline: Pipeline): Promise<void> => {
    const { name } = pipeline
    const stats = new RunStats(
      (place, message) => log.debug({ event: 'pipeline_invalid_record', name, place, message }),
      (place, message) => log.warn({ event: 'pipeline_input_damaged', name, place }, `${place} ${message}`),
    )
    const shown: { state: PipelineState; error: string | null } = { state: 'running', error: null }
    for (const output of pipeline.outputs) monitor.add(watched(pipeline, output, { stats, shown }))
    while (!stop.aborted) {
      const tell = (message: string) => log.info({ event: 'pipeline', name }, message)
      const options = { state, resume: true, stats, tell, size: () => {}, stop, transforms, clock, log }
      try {
        shown.state = 'running'
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
        shown.state = end.end === 'gave_up' ? 'waiting' : 'ended'
        shown.error = end.end === 'gave_up' ? end.message : null
        if (end.end !== 'gave_up') return
      } catch (error) {
        shown.state = 'waiting'
        shown.error = messageOf(error)
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
