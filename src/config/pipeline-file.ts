/** Pipeline files: YAML, validated as a whole, every issue with its line and column. */
import { basename, dirname, resolve } from 'node:path'
import { Type } from 'typebox'
import { isMap, visit, type Document, type Node } from 'yaml'
import { ANY, DATASETS, storedDataset, type Dataset, type Locate } from '../../pipelines/records/index.js'
import { lineFormat, type LineFormat } from '../../pipelines/records/text/index.js'
import { InvalidInput, type Issue } from '../core/errors.js'
import type { TransformModule } from '../core/extension/record-transform.js'
import { nearest } from '../core/nearest.js'
import { issuesOf, pointerToken, soundMembers, strict } from '../core/schema.js'
import type { Config } from './schema.js'
import { MAX_ROUTES, PipelineDocument, PipelineList, type Pipeline } from './pipeline.js'
import { absoluteOutput, programIssues, readOutputs, readRoutes, withoutPrograms } from './pipeline-outputs.js'
import { INNER_SOURCES, resolveSource, SOURCE_KINDS, SOURCE_SCHEMAS } from './pipeline-sources.js'
import { Plugins } from './plugins.js'
import type { GeoFilesOption, ReshapeContext } from './pipeline-reshape.js'
import { resolveUnits } from './units.js'
import { badFile, readText, readYaml, type Environment } from './yaml.js'

/** Checks of names in the document, for example whether a destination exists. */
export interface PipelineChecks {
  /** Returns the issue of a destination, or undefined. */
  destination(text: string): string | undefined
  /** Opens databases of locations; returns a message if that is not possible. */
  locator(files: GeoFilesOption): Locate | string
  /** Reads the module of a transform; returns a message if that is not possible. */
  transform(file: string): TransformModule | string
  /** The same for a destination with the restrictions that the configuration sets for jobs. */
  jobDestination(text: string, allowed: Config['logpush']['destinations'] & Pick<Config, 'egress'>): string | undefined
}

/** Reads a pipeline file; throws BadConfig with every issue found. */
export function loadPipelines(
  file: string,
  checks: PipelineChecks,
  environment: Environment = process.env,
): Pipeline[] {
  const text = readText(file)
  if (isOther(text, file, environment))
    throw badFile(
      file,
      'is not a pipeline file: it has no source; edged serve -c FILE runs a configuration of the daemon',
    )
  return readPipelines(text, file, checks, environment)
}

/** Reads the text of a pipeline file; `file` is its name in messages, and its paths are relative to it. */
export function readPipelines(
  text: string,
  file: string,
  checks: PipelineChecks,
  environment: Environment = process.env,
): Pipeline[] {
  const yaml = readYaml(text, file, environment)
  keepDigits(yaml.document)
  return yaml.checked((value) => {
    const listed = isObject(value) && 'pipelines' in value
    if (listed) throwAny(listIssues(value))
    const stem = stemOf(file)
    const around = { folder: dirname(resolve(file)), inside: false, checks }
    if (listed) {
      const { pipelines, issues } = readList(value['pipelines'] as unknown[], stem, around)
      throwAny(issues)
      return pipelines.filter((pipeline) => pipeline !== undefined)
    }
    const { plugins, ...single } = isObject(value) ? value : { plugins: undefined }
    if (plugins !== undefined) throwAny(pluginIssues({ plugins }))
    const found = readPipeline(isObject(value) ? single : value, { ...around, name: stem })
    if (!Array.isArray(found)) return [found]
    throw new InvalidInput(found)
  })
}

/** Pipelines of a list, and issues of the missing ones. */
export interface ReadPipelines {
  /** Each at its index. Undefined if it has issues. */
  readonly pipelines: readonly (Pipeline | undefined)[]
  /** Issues with pointers to the list, as in `/pipelines/0/source`. */
  readonly issues: readonly Issue[]
}

/** Reads the section `pipelines` of a configuration file. */
export function configuredPipelines(
  documents: readonly unknown[],
  file: string,
  checks: PipelineChecks,
  daemon: ReshapeContext['daemon'],
): ReadPipelines {
  return readList(documents, 'pipeline', { folder: dirname(resolve(file)), inside: true, checks, daemon })
}

function readList(documents: readonly unknown[], stem: string, around: Omit<PipelineContext, 'name'>): ReadPipelines {
  const issues: Issue[] = []
  const pipelines = documents.map((document, index) => {
    const found = readPipeline(document, { ...around, name: `${stem}-${index + 1}` })
    if (!Array.isArray(found)) return found
    issues.push(...found.map((issue) => ({ ...issue, pointer: `/pipelines/${index}${issue.pointer}` })))
    return undefined
  })
  return { pipelines, issues: [...issues, ...repeatedNames(pipelines)] }
}

const stemOf = (file: string): string =>
  basename(file)
    .replace(/\.(ya?ml|json)$/i, '')
    .replaceAll(/[^A-Za-z0-9._-]/g, '-')

/** Returns whether the text of a configuration file is a pipeline file, rather than one of the daemon. */
export function isPipelineFile(text: string, file: string, environment: Environment = process.env): boolean {
  const { contents } = readYaml(text, file, environment).document
  if (isOnePipeline(contents)) return true
  const beside = isMap(contents) && contents.has('plugins') ? 1 : 0
  return isMap(contents) && contents.has('pipelines') && contents.items.length === 1 + beside
}

/** Returns whether a document is a single pipeline. */
export const isOnePipeline = (contents: unknown): boolean =>
  isMap(contents) && (contents.has('source') || contents.has('destination_conf'))

/** Returns whether a file has members, but none of a pipeline. */
const isOther = (text: string, file: string, environment: Environment): boolean =>
  isMap(readYaml(text, file, environment).document.contents) && !isPipelineFile(text, file, environment)

/** Converts integers beyond 2^53 to bigint, with all their digits. */
export function keepDigits(document: Document | Node): void {
  visit(document, {
    Scalar(_key, node) {
      const { value, source } = node
      if (typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source ?? ''))
        node.value = BigInt(source ?? '')
    },
  })
}

interface PipelineContext {
  readonly folder: string
  /** Name of a pipeline without a name. */
  readonly name: string
  /** Inside the daemon, whose own records are a possible source. */
  readonly inside: boolean
  readonly checks: PipelineChecks
  readonly daemon?: ReshapeContext['daemon']
}

/** Returns a pipeline, or all of its issues. */
function readPipeline(
  given: unknown,
  { folder, name: byDefault, inside, checks, daemon }: PipelineContext,
): Pipeline | Issue[] {
  if (!isObject(given)) return [{ pointer: '', message: 'must be a pipeline: source, dataset, destination_conf' }]
  const source = given['source'] === 'stdin' ? { stdin: true } : given['source']
  const document: Record<string, unknown> = { ...given, ...(source !== undefined && { source }) }
  const issues = [...wrongShape(withoutPrograms(document)), ...programIssues(document)]
  if (source !== undefined) issues.push(...sourceIssues(source, inside), ...idleIssues(source, given))
  const { dataset } = document
  const stored = typeof dataset === 'string' ? storedDataset(dataset) : undefined
  if (typeof dataset === 'string' && stored === undefined)
    issues.push({ pointer: '/dataset', message: noDataset(dataset) })

  if (dataset === ANY && isOwnSource(source))
    issues.push({ pointer: '/dataset', message: 'any is for records that come from outside; name a dataset' })
  if (dataset !== ANY && given['schema'] !== undefined && !hasTransform(given))
    issues.push({ pointer: '/schema', message: 'is for dataset: any and for transform; other datasets have a schema' })

  // Malformed members are omitted, so that the rest is checked as well.
  const resolved = resolveUnits(PipelineDocument, soundMembers(document, issues)) as Partial<PipelineDocument>
  const name = resolved.name ?? byDefault
  if (given['routes'] === undefined && given['destination_conf'] === undefined)
    issues.push({ pointer: '/destination_conf', message: 'is required, or routes' })
  const { schema, source: from } = resolved
  const context = { name, dataset: stored && resolved.dataset, schema, folder, checks, daemon }
  const outputs =
    given['routes'] === undefined
      ? readOutputs([{ document: resolved, pointer: '' }], context)
      : readRoutes(given, resolved, context)
  const lines = stored && formatOf(from, stored, schema)
  const found = [...issues, ...(Array.isArray(lines) ? lines : []), ...outputs.issues]
  if (found.length > 0 || stored === undefined || Array.isArray(lines)) return found
  const pipeline = { ...resolved, ...absoluteOutput(resolved, folder), name, stored, lines, outputs: outputs.read }
  return { ...(pipeline as Pipeline), ...(from && { source: resolveSource(from, folder) }) }
}

/** Returns whether a module adds fields to records, which `schema` declares. */
const hasTransform = (given: Readonly<Record<string, unknown>>): boolean =>
  [given, ...(Array.isArray(given['routes']) ? (given['routes'] as unknown[]) : [])].some(
    (output) => isObject(output) && output['transform'] !== undefined,
  )

/** Returns the format of a source, undefined for JSON, or its issues. */
function formatOf(
  source: PipelineDocument['source'] | undefined,
  stored: Dataset,
  schema: PipelineDocument['schema'],
): LineFormat | Issue[] | undefined {
  const { format } = { format: undefined, ...source }
  try {
    const lines = lineFormat(format, stored, schema)
    const isWhole =
      lines !== undefined && source !== undefined && 'syslog' in source && source.syslog.record === 'event'
    return isWhole ? [{ pointer: '/source/format', message: 'is for record: message; an event is not a line' }] : lines
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    return error.issues.map(({ pointer, message }) => ({ pointer: `/source/format${pointer}`, message }))
  }
}

/** Members about the end or the state of a separate run: a pipeline of a zone or account is a job of the daemon. */
const IDLE = {
  retry_for: 'is for pipelines that end; one of a zone or account retries until logpush.retention_age is over',
  on_invalid: 'is for records that come from outside; those of a zone or account are always valid',
  spool_bytes: 'is for records that come from outside; those of a zone or account are kept by logpush.retention_bytes',
} as const

const isOwnSource = (source: unknown): boolean => isObject(source) && INNER_SOURCES.some((kind) => kind in source)

function idleIssues(source: unknown, given: Readonly<Record<string, unknown>>): Issue[] {
  if (!isOwnSource(source)) return []
  return Object.entries(IDLE).flatMap(([member, message]) =>
    given[member] === undefined ? [] : [{ pointer: `/${member}`, message }],
  )
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function throwAny(issues: readonly Issue[]): void {
  if (issues.length > 0) throw new InvalidInput(issues)
}

const listIssues = issuesOf(PipelineList)
const pluginIssues = issuesOf(Type.Object({ plugins: Plugins }))

// These two are distinguished by hand, so that issues are about the intended one.
const wrongShape = issuesOf(
  Type.Object(
    {
      ...PipelineDocument.properties,
      source: Type.Unknown(),
      dataset: Type.String(),
      output_options: Type.Optional(Type.Unknown()),
      routes: Type.Optional(
        Type.Array(Type.Unknown(), {
          minItems: 1,
          maxItems: MAX_ROUTES,
          'x-message': `must be 1 to ${MAX_ROUTES} routes`,
        }),
      ),
    },
    strict,
  ),
  { defaults: true },
)
const SOURCE_ISSUES = Object.fromEntries(
  Object.entries(SOURCE_SCHEMAS).map(([kind, schema]) => [kind, issuesOf(schema)]),
) as Readonly<Record<string, ReturnType<typeof issuesOf>>>

const OUTSIDE: readonly string[] = ['stdin']

function sourceIssues(source: unknown, inside: boolean): Issue[] {
  const elsewhere = inside ? OUTSIDE : INNER_SOURCES
  const allowed = SOURCE_KINDS.filter((kind) => !elsewhere.includes(kind))
  const asked = `must have one of ${allowed.join(', ')}`
  if (!isObject(source)) return [{ pointer: '/source', message: asked }]
  const [kind, second] = SOURCE_KINDS.filter((kind) => kind in source)
  if (kind === undefined) {
    const [key] = Object.keys(source)
    if (key === undefined) return [{ pointer: '/source', message: asked }]
    const meant = nearest(key, allowed)
    const message = meant === undefined ? `is not a source; it ${asked}` : `is not a source; did you mean ${meant}?`
    return [{ pointer: `/source/${pointerToken(key)}`, message }]
  }
  if (second !== undefined) return [{ pointer: `/source/${second}`, message: `is a second source beside ${kind}` }]
  if (!allowed.includes(kind))
    return [
      {
        pointer: `/source/${kind}`,
        message: `is a source of pipelines ${inside ? 'of files' : 'inside the daemon'} only`,
      },
    ]
  return SOURCE_ISSUES[kind]!(source).map((issue) => ({ ...issue, pointer: `/source${issue.pointer}` }))
}

function noDataset(name: string): string {
  const meant = nearest(name, DATASETS.keys())
  return `is not a dataset: ${name}${meant === undefined ? '' : `; did you mean ${meant}?`}`
}

function repeatedNames(pipelines: ReadPipelines['pipelines']): Issue[] {
  return pipelines.flatMap((pipeline, index) =>
    pipeline !== undefined && pipelines.findIndex((other) => other?.name === pipeline.name) < index
      ? [{ pointer: `/pipelines/${index}/name`, message: `duplicate pipeline name ${pipeline.name}` }]
      : [],
  )
}
