/** Creates the dependencies of a pipeline of a file, runs it to its end, and closes them. */
import { join } from 'node:path'
import { openFolder, removeEmpty, removeFolder, removeDelivered, run, type RunEnd } from '../../../pipelines/run/run.js'
import { lockFolder } from '../../../pipelines/run/run-lock.js'
import { openSink } from '../../../sinks/index.js'
import { outputName, type Pipeline } from '../../config/pipeline.js'
import { ClosingStack } from '../../core/closing-stack.js'
import { ownDestinations } from './destinations.js'
import { openInput, type PipelineRun } from './inputs.js'
import { Transforms } from './transforms.js'

/** Returns the folder for the state of a pipeline while it has something to deliver. */
export const stateFolder = (state: string, { name }: Pipeline): string => join(state, name)

/** Runs a pipeline. Rejects with NoInput, or with any error that stops it; records that were read stay in its state. */
export async function runPipeline(pipeline: Pipeline, options: PipelineRun): Promise<RunEnd> {
  const { stats, tell, stop, clock, log, transforms = new Transforms(clock) } = options
  const folder = await openFolder(stateFolder(options.state, pipeline))
  const unlock = await lockFolder(folder)
  const stack = new ClosingStack(log)
  try {
    const open = (text: string) => stack.use(openSink(text, ownDestinations({ clock, log }, [text])))
    const sinks = pipeline.outputs.map(({ destination_conf: destination, dead_letter: aside }) => ({
      sink: open(destination),
      aside: aside === undefined ? undefined : open(aside),
    }))
    const input = stack.use(await openInput(pipeline, folder, options))
    const outputs = pipeline.outputs.map((output, index) => ({
      ...sinks[index]!,
      name: outputName(pipeline, output),
      job: output.job,
      cursor: output.route === undefined ? input.cursor : (input.routes?.get(output.route) ?? input.cursor),
      retryForMs: output.retry_for,
      stats: stats.output(output.route),
      reject: (place: string, message: string) => stats.reject(place, message),
    }))
    const openTransform = transforms.opener(folder)
    const failing = ({ name }: { name: string }, message: string) => tell(`${name}: ${message}; trying again`)
    const end = endOf(pipeline, await run({ outputs, input, openTransform, folder, failing, stop, clock, log }))
    if (end.end === 'done') await input.finished?.()
    await stack.close()
    if (end.end === 'done') await (isRemembered(pipeline) ? removeDelivered(folder) : removeFolder(folder))
    return end
  } finally {
    await stack.close()
    await unlock()
    await removeEmpty(folder)
  }
}

/** Whether a finished run leaves its place in the input: a later one then continues after it. */
const isRemembered = ({ source }: Pipeline): boolean => 'file' in source || 's3' in source

/** Returns the end of a pipeline, which is the end of the route that got least far. */
function endOf({ outputs }: Pipeline, ends: readonly RunEnd[]): RunEnd {
  const messages = ends.flatMap((end, index) => {
    if (end.end !== 'gave_up') return []
    const route = outputs[index]?.route
    return [route === undefined ? end.message : `route ${route}: ${end.message}`]
  })
  if (messages.length > 0) return { end: 'gave_up', message: messages.join('; ') }
  return ends.find(({ end }) => end === 'stopped') ?? { end: 'done' }
}
