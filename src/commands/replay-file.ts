import { existsSync } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { pino } from 'pino'
import { lockFolder } from '../../pipelines/run/run-lock.js'
import { failedFile, replay as send } from '../../pipelines/run/replay.js'
import { openSink, redact } from '../../sinks/index.js'
import { loadConfig } from '../config/load.js'
import { outputName, type Pipeline, type PipelineOutput } from '../config/pipeline.js'
import { isPipelineFile, loadPipelines } from '../config/pipeline-file.js'
import { readText } from '../config/yaml.js'
import { systemClock as clock } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import { destinationChecks, ownDestinations } from '../daemon/pipelines/destinations.js'
import { Exit } from './common/command.js'

export interface ReplayOptions {
  readonly config?: string
  readonly destination?: string
  readonly pipeline?: string
  readonly retryFor: string
}

/** Sends a dead letter file to a destination again. `path` is absolute. */
export async function replayFile(path: string, options: ReplayOptions): Promise<void> {
  const log = pino({ level: 'error', base: null }, pino.destination({ dest: 2, sync: true }))
  const isFile = await stat(path).then(
    (found) => found.isFile(),
    () => false,
  )
  if (!isFile) throw new Exit(2, `no such file: ${path}`)
  const output = options.config === undefined ? undefined : outputOf(options.config, path, options)
  const destination = options.destination ?? output?.destination_conf
  if (destination === undefined)
    throw new Exit(2, 'no destination; name the pipeline file with -c, or give --destination')
  const checks = destinationChecks({ clock, log })
  const issue = checks.destination(destination)
  if (issue !== undefined) throw new Exit(2, `--destination ${issue}`)
  if (!/^\d{1,9}$/.test(options.retryFor)) throw new Exit(2, '--retry-for must be a number of seconds')

  const folder = `${path}.replay`
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const unlock = await lockFolder(folder)
  const sink = openSink(destination, ownDestinations({ clock, log }, [destination]))
  const stopping = new AbortController()
  const stop = () => (stopping.signal.aborted ? process.exit(1) : stopping.abort())
  process.on('SIGINT', stop).on('SIGTERM', stop)
  // Waits do not keep a process alive by themselves.
  const alive = setInterval(() => {}, 2 ** 30)
  const terminal = process.stderr.isTTY
  try {
    const progress = ({ read, failed }: { read: number; failed: number }) =>
      void (terminal && process.stderr.write(`\r${read} records, ${failed} rejected again `))
    const retryForMs = Number(options.retryFor) * 1000
    const isLines = output === undefined || hasLines(output)
    const to = { sink, destination: redact(destination) }
    const common = { path, isLines, ...to, folder, retryForMs, failing, note, progress, clock, log }
    const { ended, damage, ...stats } = await send({ ...common, stop: stopping.signal })
    if (terminal) process.stderr.write('\n')
    process.stdout.write(`${JSON.stringify(stats)}\n`)
    if (ended !== undefined) throw new Exit(5, `${ended}; the same command sends the rest`)
    if (damage !== undefined) throw new Exit(5, `${path} ${damage}`)
    if (stats.failed > 0)
      throw new Exit(5, `${stats.failed} records were rejected again; they are in ${failedFile(path)}`)
  } catch (error) {
    throw error instanceof Exit ? error : new Exit(5, `${messageOf(error)}; the same command sends the rest`)
  } finally {
    clearInterval(alive)
    process.off('SIGINT', stop).off('SIGTERM', stop)
    await sink.close()
    await unlock()
  }
}

const note = (message: string): void => void process.stderr.write(`edged: ${message}\n`)
const failing = (message: string): void => void process.stderr.write(`edged: ${message}; trying again\n`)

/** Whether each line of what an output writes is a record. */
const hasLines = ({ job: { format } }: PipelineOutput): boolean =>
  format.batchPrefix.length === 0 && format.batchSuffix.length === 0 && format.delimiter.length === 0

/** Finds the output whose records a file has. */
function outputOf(
  config: string,
  path: string,
  { pipeline: name, destination }: ReplayOptions,
): PipelineOutput | undefined {
  if (!existsSync(config)) throw new Exit(2, `no such file: ${config}`)
  const checks = destinationChecks({ clock, log: pino({ level: 'silent' }) })
  const pipelines: readonly Pipeline[] = isPipelineFile(readText(config), config)
    ? loadPipelines(config, checks)
    : loadConfig(config, process.env, checks).pipelines
  const outputs = pipelines.flatMap((pipeline) =>
    pipeline.outputs.map((output) => ({ name: outputName(pipeline, output), output })),
  )
  if (name !== undefined) {
    const named = outputs.find((one) => one.name === name)
    if (named === undefined)
      throw new Exit(2, `${config} has no pipeline ${name}, only ${outputs.map((one) => one.name).join(', ')}`)
    return named.output
  }
  const writers = outputs.filter(({ output: { dead_letter: aside } }) => aside !== undefined && isBelow(path, aside))
  const [found, second] = writers.length > 0 ? writers : outputs
  if (found !== undefined && second === undefined) return found.output
  if (destination !== undefined) return undefined
  if (found === undefined) throw new Exit(2, `${config} has no pipelines; give --destination`)
  throw new Exit(
    2,
    `several outputs of ${config} can have written ${path}; name one with --pipeline, for example ${found.name}`,
  )
}

/** Whether a file is below the fixed part of a destination of files. */
function isBelow(path: string, destination: string): boolean {
  if (!destination.startsWith('file:')) return false
  const [fixed = ''] = decodeURIComponent(new URL(destination).pathname).split('{DATE}')
  return path.startsWith(fixed.endsWith('/') ? fixed : `${fixed}/`)
}
