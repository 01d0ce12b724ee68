/** Opens the sources of pipelines, each as a row of a table. */
import { readFile } from 'node:fs/promises'
import { fileIntake } from '../../../pipelines/sources/files/file-intake.js'
import { FileSpool } from '../../../pipelines/sources/files/file-spool.js'
import { httpInput } from '../../../pipelines/sources/listeners/http.js'
import type { Input } from '../../../pipelines/sources/intake/input.js'
import { kafkaInput } from '../../../pipelines/sources/streams/kafka.js'
import { natsInput } from '../../../pipelines/sources/streams/nats.js'
import { otlpInput } from '../../../pipelines/sources/listeners/otlp.js'
import { inputPaths, totalSize } from '../../../pipelines/sources/files/paths.js'
import { pluginInput } from '../../../pipelines/sources/streams/plugin.js'
import { redisStreamInput } from '../../../pipelines/sources/streams/redis-stream.js'
import type { RunStats } from '../../../pipelines/sources/intake/run-stats.js'
import type { TakingDeps } from '../../../pipelines/sources/intake/spool-input.js'
import { s3Input } from '../../../pipelines/sources/objects/s3.js'
import { stdinInput } from '../../../pipelines/sources/stdin.js'
import { syslogInput } from '../../../pipelines/sources/listeners/syslog.js'
import { loadSdk } from '../../../sinks/objects/s3-store.js'
import { boundedScram } from '../../../sinks/streams/scram.js'
import type { Pipeline } from '../../config/pipeline.js'
import {
  ADDED_SOURCES,
  filesOf,
  listenerOf,
  OUTER_SOURCES,
  type OuterSource,
  type SourceOf,
} from '../../config/pipeline-sources.js'
import type { Clock } from '../../core/clock.js'
import type { Log } from '../../core/log.js'
import type { Transforms } from './transforms.js'

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
  /** The transforms of several runs, whose modules can be replaced together. */
  readonly transforms?: Transforms | undefined
  readonly clock: Clock
  readonly log: Log
}

interface SourceContext extends Pick<PipelineRun, 'resume' | 'size'>, TakingDeps {
  /** Called with messages for the user. */
  readonly tell: (message: string) => void
}

type PemFiles = { readonly [K in 'ca' | 'cert' | 'key']?: string }
type TlsChoice = SourceOf<'kafka'>['kafka']['tls']

type Openers = { readonly [K in OuterSource]: (source: SourceOf<K>, context: SourceContext) => Promise<Input> }

/** What opens each source. */
const OPENERS: Openers = {
  file: openFiles,
  stdin: async (_source, context) => await stdinInput(process.stdin, context),
  http: async (source, context) => await httpInput({ ...listenerOf(source), listening: listening(context) }, context),
  redis_stream: async (source, context) =>
    await redisStreamInput({ ...source, url: source.redis_stream, tell: context.tell }, context),
  kafka: async ({ kafka }, context) => {
    const { tls, sasl, session_timeout: sessionMs } = kafka
    const given = { ...kafka, sessionMs, tls: await tlsOptions(tls), sasl: sasl ? saslOf(sasl) : undefined }
    return await kafkaInput({ ...given, tell: context.tell }, context)
  },
  nats: async ({ nats }, context) => {
    const { tls, username: user, password: pass, credentials_file: file } = nats
    const credentials = file === undefined ? undefined : await readFile(file)
    const files = await tlsOptions(tls)
    const given = { ...nats, tls: files === true ? {} : files || undefined, user, pass, credentials }
    return await natsInput({ ...given, tell: context.tell }, context)
  },
  s3: async ({ s3 }, context) => {
    const { follow = false, interval = LIST_MS, 'access-key-id': id, 'secret-access-key': secret } = s3
    const credentials =
      id === undefined || secret === undefined ? undefined : { accessKeyId: id, secretAccessKey: secret }
    const given = { ...s3, credentials, intervalMs: follow ? interval : undefined, sdk: loadSdk, tell: context.tell }
    return await s3Input(given, context)
  },
  otlp: async ({ otlp }, context) => await otlpInput({ ...otlp, listening: listening(context) }, context),
  syslog: async ({ syslog }, context) => await syslogInput({ ...syslog, listening: listening(context) }, context),
}

/** Time between two listings of a bucket. */
const LIST_MS = 60_000

const listening =
  ({ tell }: SourceContext) =>
  (url: string): void =>
    tell(`listening on ${url}`)

/** Returns how to connect with TLS; the files of certificates are read. */
async function tlsOptions(tls: TlsChoice = false): Promise<boolean | PemFiles> {
  if (typeof tls === 'boolean') return tls
  const files = { ca: tls.ca_file, cert: tls.cert_file, key: tls.key_file }
  const read = Object.entries(files).flatMap(([name, path]) => (path === undefined ? [] : [[name, path] as const]))
  return Object.fromEntries(
    await Promise.all(read.map(async ([name, path]) => [name, await readFile(path, 'utf8')] as const)),
  )
}

const saslOf = ({ mechanism, username, password }: NonNullable<SourceOf<'kafka'>['kafka']['sasl']>) =>
  mechanism === 'plain' ? { mechanism, username, password } : boundedScram({ mechanism, username, password })

/** Opens the source of a pipeline with its state in `folder`. */
export async function openInput(pipeline: Pipeline, folder: string, options: PipelineRun): Promise<Input> {
  const { source, stored, lines, spool_bytes: spoolBytes, name } = pipeline
  const { stats, clock, log, resume, size } = options
  const tell = (message: string) => options.tell(`${name}: ${message}`)
  const named = pipeline.outputs.flatMap(({ route }) => route ?? [])
  const routes = named.length > 0 ? named : undefined
  const common = { folder, spoolBytes, stats, clock, log, resume, size, tell }
  const context = { ...common, dataset: stored, lines, routes, waiting: tell }
  const added = ADDED_SOURCES.find((plugin) => plugin.name in source)
  if (added !== undefined)
    return await pluginInput(added, (source as Readonly<Record<string, unknown>>)[added.name], context)
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
    stats.lose()
    tell(`${path} ${message}`)
  }
  const options = { ...context, paths, follow, missing, lost, leftOver }
  return context.routes === undefined ? await FileSpool.open(options) : await fileIntake(options, context)
}
