/** The outputs of a pipeline file: one, or one for each route. */
import { resolve } from 'node:path'
import { Type } from 'typebox'
import { compileJob } from '../../pipelines/logpush/settings/compiled-job.js'
import { jsonText } from '../../pipelines/logpush/spool/json-text.js'
import { PARQUET_OPTIONS } from '../../pipelines/logpush/settings/parquet-job.js'
import { ANY, OutputOptions } from '../../pipelines/records/index.js'
import { InvalidInput, issuesIn, type Issue } from '../core/errors.js'
import { issuesOf, pointerToken, soundMembers, strict } from '../core/schema.js'
import { OUTPUT_MEMBERS, outputName, RouteDocument, type PipelineDocument, type PipelineOutput } from './pipeline.js'
import { readReshape, type ReshapeContext } from './pipeline-reshape.js'
import { resolveUnits } from './units.js'

const wrongRoute = issuesOf(
  Type.Object({ ...RouteDocument.properties, output_options: Type.Optional(Type.Unknown()) }, strict),
)

/** Stages of other tools that run programs. */
const PROGRAMS: readonly string[] = ['exec', 'script', 'lua', 'vrl', 'bloblang', 'transforms', 'processors']
const NO_PROGRAMS =
  'is not a stage: edged runs no programs on records; use transform (a JavaScript module), dedupe, redact, drop, rename, geo, lookup, set and ' +
  'output_options.record_template, or put Vector, Fluent Bit or Redpanda Connect in front (docs/pipelines.md, Reshaping)'

/** Returns issues for stages that edged does not have, with a better way. */
export const programIssues = (given: unknown): Issue[] =>
  PROGRAMS.filter((name) => Object.hasOwn(Object(given) as object, name)).map((name) => ({
    pointer: `/${name}`,
    message: NO_PROGRAMS,
  }))

/** Returns the rest of a document. */
export const withoutPrograms = (given: unknown): unknown =>
  programIssues(given).length === 0
    ? given
    : Object.fromEntries(Object.entries(given as object).filter(([name]) => !PROGRAMS.includes(name)))

/** Reads the outputs of a pipeline with routes. */
export function readRoutes(
  given: Readonly<Record<string, unknown>>,
  pipeline: Partial<PipelineDocument>,
  context: OutputContext,
): ReadOutputs {
  const issues = OUTPUT_MEMBERS.filter((member) => given[member] !== undefined).map((member) => ({
    pointer: `/${member}`,
    message: 'is for pipelines without routes; write it in each route',
  }))
  if (pipeline.routes === undefined) return { read: [], issues }
  const listed = (given['routes'] as readonly unknown[]).map((route, index): GivenOutput => {
    const pointer = `/routes/${index}`
    const wrong = [...wrongRoute(withoutPrograms(route)), ...programIssues(route)]
    issues.push(...wrong.map((issue) => ({ ...issue, pointer: pointer + issue.pointer })))
    const resolved = resolveUnits(RouteDocument, soundMembers(Object(route) as object, wrong))
    const { retry_for, dead_letter } = pipeline
    const { name, ...document } = resolved as Partial<RouteDocument>
    return { document: { retry_for, dead_letter, ...document }, route: name, pointer }
  })
  for (const [index, { route }] of listed.entries())
    if (route !== undefined && listed.findIndex((other) => other.route === route) < index)
      issues.push({ pointer: `/routes/${index}/name`, message: `duplicate route name ${route}` })
  const outputs = readOutputs(listed, context)
  return { ...outputs, issues: [...issues, ...outputs.issues] }
}

interface OutputContext extends ReshapeContext {
  readonly checks: ReshapeContext['checks'] & { destination(text: string): string | undefined }
  /** Undefined if it is unknown. */
  readonly dataset: PipelineDocument['dataset'] | undefined
  readonly schema: PipelineDocument['schema']
}

type OutputDocument = { readonly [K in keyof Omit<RouteDocument, 'name'>]?: RouteDocument[K] | undefined }

interface GivenOutput {
  /** The valid members of a pipeline or route, with numbers for units. */
  readonly document: OutputDocument
  readonly route?: string | undefined
  readonly pointer: string
}

interface ReadOutputs {
  /** Those without issues. */
  readonly read: readonly PipelineOutput[]
  readonly issues: readonly Issue[]
}

export function readOutputs(listed: readonly GivenOutput[], context: OutputContext): ReadOutputs {
  const issues: Issue[] = []
  const read = listed.flatMap((given) => {
    const found = readOutput(given, context)
    if (!Array.isArray(found)) return [found]
    issues.push(...found.map((issue) => ({ ...issue, pointer: given.pointer + issue.pointer })))
    return []
  })
  return { read, issues }
}

function readOutput({ document, route }: GivenOutput, context: OutputContext): PipelineOutput | Issue[] {
  const { name, dataset, schema, folder, checks } = context
  const { output, parquet, issues } = withParquet({ ...document, ...absoluteOutput(document, folder) })
  for (const member of ['destination_conf', 'dead_letter'] as const) {
    const text = output[member]
    const message = text === undefined ? undefined : checks.destination(text)
    if (message !== undefined) issues.push({ pointer: `/${member}`, message })
  }
  const { reshape, dedupe, transform, issues: wrong } = readReshape(document, context)
  issues.push(...wrong)
  if (dataset === undefined) return [...issues, ...issuesOfAnyDataset(output)]
  try {
    const seconds = output.max_upload_interval_seconds ?? (isStdout(output.destination_conf) ? 1 : undefined)
    const settings = {
      ...output,
      max_upload_interval_seconds: seconds,
      parquet,
      dataset,
      schema,
      reshape,
      dedupe,
      transform,
      edged_in_flight: output.in_flight,
    }
    const job = compileJob(settings, outputName({ name }, { route }))
    const { destination_conf: destination = '', dead_letter, retry_for: retryFor = 0, tests = [] } = output
    if (issues.length > 0) return issues
    return { route, job, destination_conf: destination, dead_letter, retry_for: retryFor, tests }
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    return [...issues, ...error.issues]
  }
}

/** Destinations that write a file or object for each batch. */
const OBJECTS = /^(file|s3|r2|gs|azure):/i
const IS_PARQUET = /[?&]format=parquet(&|$)/

/** Returns an output whose destination says that batches are Parquet files if its options do, and the issues of that. */
function withParquet<O extends OutputDocument>(output: O): { output: O; parquet: boolean; issues: Issue[] } {
  const { output_options: options, destination_conf: destination = '', dead_letter: aside = '' } = output
  const given = Object(options) as Readonly<Record<string, unknown>>
  const asked = given['output_type'] === 'parquet'
  const parquet = asked || (OBJECTS.test(destination) && IS_PARQUET.test(destination))
  if (!parquet) return { output, parquet, issues: [] }
  const issues = Object.keys(given)
    .filter((name) => name in OutputOptions.properties && !PARQUET_OPTIONS.includes(name))
    .map((name) => ({
      pointer: `/output_options/${pointerToken(name)}`,
      message: 'has no effect on parquet; leave it out',
    }))
  if (destination !== '' && !OBJECTS.test(destination))
    issues.push({ pointer: '/destination_conf', message: 'cannot be parquet; use file:, s3:, r2:, gs: or azure:' })
  if (IS_PARQUET.test(aside))
    issues.push({ pointer: '/dead_letter', message: 'has lines, not Parquet; leave out format=parquet' })
  const isSaid = IS_PARQUET.test(destination) || !OBJECTS.test(destination)
  const to = isSaid ? destination : `${destination}${destination.includes('?') ? '&' : '?'}format=parquet`
  return { output: { ...output, ...(destination !== '' && { destination_conf: to }) }, parquet, issues }
}

/** Somebody reads the standard output as it is written. */
const isStdout = (destination = ''): boolean => /^stdout:/i.test(destination)

/** Returns the issues of an output that do not depend on its dataset, for one whose dataset is unknown. */
function issuesOfAnyDataset(output: OutputDocument & { readonly filter: string }): Issue[] {
  const settings = { ...output, dataset: ANY, reshape: undefined, dedupe: undefined, transform: undefined }
  // Records of any shape need field names for csv, other datasets do not.
  return issuesIn(() => compileJob(settings, '')).filter(({ pointer }) => pointer !== '/output_options/field_names')
}

/** Returns the text of a filter, and destinations with paths that are relative to the file. */
export function absoluteOutput(
  { filter = '', destination_conf: destination, dead_letter: aside }: GivenOutput['document'],
  folder: string,
) {
  return {
    filter: typeof filter === 'string' ? filter : jsonText(filter),
    ...(destination !== undefined && { destination_conf: absoluteDestination(destination, folder) }),
    ...(aside !== undefined && { dead_letter: absoluteDestination(aside, folder) }),
  }
}

/** `file:logs/{DATE}`, without a slash, is relative to the file. */
function absoluteDestination(text: string, folder: string): string {
  if (!text.startsWith('file:') || text.startsWith('file:/')) return text
  const [path = '', query] = text.slice('file:'.length).split('?', 2)
  const base = folder.split('/').map(encodeURIComponent).join('/')
  return `file://${resolve(base, path)}${query === undefined ? '' : `?${query}`}`
}
