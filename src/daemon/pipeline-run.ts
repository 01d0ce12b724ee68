/** Creates the dependencies of a pipeline of a file, runs it to its end, and closes them. */
import { join } from 'node:path'
import { openFolder, removeEmpty, removeFolder, removeStaging, run, type RunEnd } from '../../pipelines/run/run.js'
import { lockFolder } from '../../pipelines/run/run-lock.js'
import { openSink } from '../../sinks/index.js'
import type { Pipeline } from '../config/pipeline.js'
import { ClosingStack } from '../core/closing-stack.js'
import { ownDestinations } from './destinations.js'
import { openInput, type PipelineRun } from './pipeline-inputs.js'

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
