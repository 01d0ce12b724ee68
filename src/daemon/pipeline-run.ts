/** Creates the dependencies of a pipeline of a file, runs it to its end, and closes them. */
import { join } from 'node:path'
import { openFolder, removeEmpty, removeFolder, removeStaging, run, type RunEnd } from '../../pipelines/run/run.js'
import { lockFolder } from '../../pipelines/run/run-lock.js'
import { FileSpool } from '../../pipelines/sources/file-spool.js'
import { httpInput } from '../../pipelines/sources/http.js'
import type { Input } from '../../pipelines/sources/input.js'
import { inputPaths, totalSize } from '../../pipelines/sources/paths.js'
import { redisStreamInput } from '../../pipelines/sources/redis-stream.js'
import { stdinInput } from '../../pipelines/sources/stdin.js'
import type { RunStats } from '../../pipelines/sources/run-stats.js'
import { openSink } from '../../sinks/index.js'
import { filesOf, type Pipeline } from '../config/pipeline.js'
import type { Clock } from '../core/clock.js'
import { ClosingStack } from '../core/closing-stack.js'
import type { Log } from '../core/log.js'
import { ownDestinations } from './destinations.js'

export interface PipelineRun {
  /** Folder of the states of all pipelines. */
  readonly state: string
  /** Continue after the last record of an earlier run. */
  readonly resume: boolean
  readonly stats: RunStats
  /** Called with messages for the user. */
  readonly tell: (message: string) => void
  /** Called with the size of the input in bytes, if it is known. */
  readonly size: (bytes: number) => void
  readonly stop: AbortSignal
  readonly clock: Clock
  readonly log: Log
}

/** Returns the folder for the state of a pipeline while it has something to deliver. */
export const stateFolder = (state: string, { name }: Pipeline): string => join(state, name)

/** Runs a pipeline. Rejects with NoInput, or with any error that stops it; records that were read stay in its state. */
export async function runPipeline(pipeline: Pipeline, options: PipelineRun): Promise<RunEnd> {
  const { name, job, destination_conf: destination, dead_letter: aside, retry_for: retryForMs } = pipeline
  const { stats, tell, stop, clock, log } = options
  const folder = await openFolder(stateFolder(options.state, pipeline))
  const unlock = await lockFolder(folder)
  const stack = new ClosingStack(log)
  try {
    const deps = ownDestinations({ clock, log }, aside === undefined ? [destination] : [destination, aside])
    const sink = stack.use(openSink(destination, deps))
    const setAside = aside === undefined ? undefined : stack.use(openSink(aside, deps))
    const input = stack.use(await openInput(pipeline, folder, options))
    const failing = (message: string) => tell(`${name}: ${message}; trying again`)
    const taken = { name, job, input, sink, aside: setAside, folder, retryForMs }
    const end = await run({ ...taken, stats, failing, stop, clock, log })
    if (end.end === 'done') await input.finished?.()
    await stack.close()
    // A later run continues after the files of this one.
    if (end.end === 'done') await ('file' in pipeline.source ? removeStaging(folder) : removeFolder(folder))
    return end
  } finally {
    await stack.close()
    await unlock()
    await removeEmpty(folder)
  }
}

async function openInput(pipeline: Pipeline, folder: string, options: PipelineRun): Promise<Input> {
  const { source, job, spool_bytes: spoolBytes, name } = pipeline
  const { stored: dataset } = job
  const { stats, clock, log, resume, tell } = options
  const taking = { dataset, folder, spoolBytes, stats, clock, log }
  if ('file' in source) {
    const { paths: given, follow } = filesOf(source)
    const paths = follow ? given : await inputPaths(given)
    if (!follow) options.size(await totalSize(paths))
    const missing = (path: string) => tell(`${name}: waiting for ${path}, which does not exist`)
    const leftOver = (what: string) =>
      tell(`${name}: starting over; ${folder} has the state of an earlier run, ${what}; --resume continues that run`)
    const lost = (path: string, message: string) => {
      stats.losses++
      tell(`${name}: ${path} ${message}`)
    }
    return await FileSpool.open({ dataset, paths, follow, missing, lost, leftOver, folder, resume, clock, stats })
  }
  if ('stdin' in source) return await stdinInput(process.stdin, taking)
  if ('http' in source) {
    const listening = (url: string) => tell(`${name}: listening on ${url}`)
    return await httpInput({ listen: source.http, token: source.token, listening }, taking)
  }
  if ('redis_stream' in source) return await redisStreamInput({ ...source, url: source.redis_stream }, taking)
  throw new Error(`${name}: its source is one of pipelines inside the daemon`)
}
