/** Opens the sources of pipelines, each as a row of a table. */
import { fileIntake } from '../../pipelines/sources/file-intake.js'
import { FileSpool } from '../../pipelines/sources/file-spool.js'
import { httpInput } from '../../pipelines/sources/http.js'
import type { Input } from '../../pipelines/sources/input.js'
import { otlpInput } from '../../pipelines/sources/otlp.js'
import { inputPaths, totalSize } from '../../pipelines/sources/paths.js'
import { redisStreamInput } from '../../pipelines/sources/redis-stream.js'
import type { RunStats } from '../../pipelines/sources/run-stats.js'
import type { TakingDeps } from '../../pipelines/sources/spool-input.js'
import { stdinInput } from '../../pipelines/sources/stdin.js'
import { syslogInput } from '../../pipelines/sources/syslog.js'
import type { Pipeline } from '../config/pipeline.js'
import { filesOf, OUTER_SOURCES, type OuterSource, type SourceOf } from '../config/pipeline-sources.js'
import type { Clock } from '../core/clock.js'
import type { Log } from '../core/log.js'

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

interface SourceContext extends Pick<PipelineRun, 'resume' | 'size'>, TakingDeps {
  /** Called with messages for the user. */
  readonly tell: (message: string) => void
}

type Openers = { readonly [K in OuterSource]: (source: SourceOf<K>, context: SourceContext) => Promise<Input> }

/** What opens each source. */
const OPENERS: Openers = {
  file: openFiles,
  stdin: async (_source, context) => await stdinInput(process.stdin, context),
  http: async ({ http, token }, context) =>
    await httpInput({ listen: http, token, listening: listening(context) }, context),
  redis_stream: async (source, context) => await redisStreamInput({ ...source, url: source.redis_stream }, context),
  otlp: async ({ otlp }, context) => await otlpInput({ ...otlp, listening: listening(context) }, context),
  syslog: async ({ syslog }, context) => await syslogInput({ ...syslog, listening: listening(context) }, context),
}

const listening =
  ({ tell }: SourceContext) =>
  (url: string): void =>
    tell(`listening on ${url}`)

/** Opens the source of a pipeline with its state in `folder`. */
export async function openInput(pipeline: Pipeline, folder: string, options: PipelineRun): Promise<Input> {
  const { source, stored, spool_bytes: spoolBytes, name } = pipeline
  const { stats, clock, log, resume, size } = options
  const tell = (message: string) => options.tell(`${name}: ${message}`)
  const named = pipeline.outputs.flatMap(({ route }) => route ?? [])
  const routes = named.length > 0 ? named : undefined
  const common = { folder, spoolBytes, stats, clock, log, resume, size, tell }
  const context = { ...common, dataset: stored, routes, waiting: tell }
  const kind = OUTER_SOURCES.find((kind) => kind in source)
  if (kind === undefined) throw new Error(`${name}: its source is one of pipelines inside the daemon`)
  return await openAs(kind, source as SourceOf<typeof kind>, context)
}

const openAs = async <K extends OuterSource>(kind: K, source: SourceOf<K>, context: SourceContext): Promise<Input> =>
  await OPENERS[kind](source, context)

async function openFiles(source: SourceOf<'file'>, context: SourceContext): Promise<Input> {
  const { folder, tell, stats, size } = context
  const { paths: given, follow } = filesOf(source)
  const paths = follow ? given : await inputPaths(given)
  if (!follow) size(await totalSize(paths))
  const missing = (path: string) => tell(`waiting for ${path}, which does not exist`)
  const leftOver = (what: string) =>
    tell(`starting over; ${folder} has the state of an earlier run, ${what}; --resume continues that run`)
  const lost = (path: string, message: string) => {
    stats.losses++
    tell(`${path} ${message}`)
  }
  const options = { ...context, paths, follow, missing, lost, leftOver }
  return context.routes === undefined ? await FileSpool.open(options) : await fileIntake(options, context)
}
