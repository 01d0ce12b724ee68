/** Pipeline files: YAML, checked as a whole, every fault with its line and column. */
import { basename, dirname, resolve } from 'node:path'
import { Type } from 'typebox'
import { isScalar, visit, type Document, type Node } from 'yaml'
import { compileJob, type CompiledJob } from '../../pipelines/logpush/compiled-job.js'
import { jsonText } from '../../pipelines/logpush/spool/json-text.js'
import { DATASETS } from '../../pipelines/records/index.js'
import { InvalidInput, type Issue } from '../core/errors.js'
import { nearest } from '../core/nearest.js'
import { issuesOf, pointerToken, strict } from '../core/schema.js'
import type { Config } from './schema.js'
import { PipelineDocument, PipelineList, SOURCE_SCHEMAS, type Source, type SourceKind } from './pipeline.js'
import { settle } from './units.js'
import { readText, readYaml, type Environment } from './yaml.js'

/** A pipeline that can be run: checked, its paths absolute. */
export interface Pipeline extends PipelineDocument {
  readonly name: string
  /** JSON text; "" where there is none. */
  readonly filter: string
  readonly job: CompiledJob
}

/** What is checked beyond what can be seen in the document, such as whether there is such a destination. */
export interface PipelineChecks {
  /** What is wrong with a destination, or undefined. */
  destination(text: string): string | undefined
  /** The same for a destination that has to keep to what the configuration allows jobs. */
  jobDestination(text: string, allowed: Config['logpush']['destinations']): string | undefined
}

/** Reads a pipeline file; throws BadConfig with every fault found. */
export function loadPipelines(
  file: string,
  checks: PipelineChecks,
  environment: Environment = process.env,
): Pipeline[] {
  return readPipelines(readText(file), file, checks, environment)
}

/** Reads the text of a pipeline file; `file` names it in messages and is what its paths are relative to. */
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
    if (listed) return readList(value['pipelines'] as unknown[], stem, around)
    const found = readPipeline(value, { ...around, name: stem })
    if (!Array.isArray(found)) return [found]
    throw new InvalidInput(found)
  })
}

/** Reads the section `pipelines` of a configuration file; throws InvalidInput with pointers into the configuration. */
export function configuredPipelines(documents: readonly unknown[], file: string, checks: PipelineChecks): Pipeline[] {
  return readList(documents, stemOf(file), { folder: dirname(resolve(file)), inside: true, checks })
}

function readList(documents: readonly unknown[], stem: string, around: Omit<Surroundings, 'name'>): Pipeline[] {
  const issues: Issue[] = []
  const pipelines = documents.flatMap((document, index) => {
    const pointer = `/pipelines/${index}`
    const found = readPipeline(document, { ...around, name: `${stem}-${index + 1}` })
    if (Array.isArray(found)) issues.push(...found.map((issue) => ({ ...issue, pointer: pointer + issue.pointer })))
    return Array.isArray(found) ? [] : [found]
  })
  issues.push(...repeatedNames(pipelines))
  throwAny(issues)
  return pipelines
}

const stemOf = (file: string): string =>
  basename(file)
    .replace(/\.(ya?ml|json)$/i, '')
    .replaceAll(/[^A-Za-z0-9._-]/g, '-')

/** Whether the text of a configuration file is a pipeline file, rather than one of the daemon. */
export function isPipelineFile(text: string, file: string, environment: Environment = process.env): boolean {
  const { contents } = readYaml(text, file, environment).document
  const keys: unknown[] =
    (contents as { items?: { key?: unknown }[] } | null)?.items?.map(({ key }) =>
      isScalar(key) ? key.value : undefined,
    ) ?? []
  return keys.includes('source') || keys.includes('destination_conf') || (keys.length === 1 && keys[0] === 'pipelines')
}

/** Integers beyond 2^53 become bigint, with all their digits. */
export function keepDigits(document: Document | Node): void {
  visit(document, {
    Scalar(_key, node) {
      const { value, source } = node
      if (typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source ?? ''))
        node.value = BigInt(source ?? '')
    },
  })
}

interface Surroundings {
  readonly folder: string
  /** For a pipeline without a name. */
  readonly name: string
  /** Inside the daemon: there are its own records as well. */
  readonly inside: boolean
  readonly checks: PipelineChecks
}

/** A pipeline, or what is wrong with it. */
export function readPipeline(given: unknown, { folder, name, inside, checks }: Surroundings): Pipeline | Issue[] {
  if (!isObject(given)) return [{ pointer: '', message: 'must be a pipeline: source, dataset, destination_conf' }]
  const source = given['source'] === 'stdin' ? { stdin: true } : given['source']
  const document: Record<string, unknown> = { ...given, ...(source !== undefined && { source }) }
  const issues = [...wrongShape(document)]
  if (source !== undefined) issues.push(...sourceIssues(source, inside))
  const { dataset } = document
  const known = typeof dataset === 'string' && DATASETS.has(dataset)
  if (typeof dataset === 'string' && !known) issues.push({ pointer: '/dataset', message: noDataset(dataset) })
  if (issues.length > 0) return issues

  const settled = settle(PipelineDocument, document) as PipelineDocument
  const filter = settled.filter ?? ''
  const pipeline = {
    ...settled,
    name: settled.name ?? name,
    filter: typeof filter === 'string' ? filter : jsonText(filter),
    source: settledSource(settled.source, folder),
    destination_conf: absoluteDestination(settled.destination_conf, folder),
    ...(settled.dead_letter !== undefined && { dead_letter: absoluteDestination(settled.dead_letter, folder) }),
  }
  for (const member of ['destination_conf', 'dead_letter'] as const) {
    const text = pipeline[member]
    const message = text === undefined ? undefined : checks.destination(text)
    if (message !== undefined) issues.push({ pointer: `/${member}`, message })
  }
  try {
    const job = compileJob(pipeline, pipeline.name)
    return issues.length > 0 ? issues : { ...pipeline, job }
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    return [...issues, ...error.issues]
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function throwAny(issues: readonly Issue[]): void {
  if (issues.length > 0) throw new InvalidInput(issues)
}

const listIssues = issuesOf(PipelineList)

// These two are told apart by hand, so that what is said about them is about what was meant.
const wrongShape = issuesOf(
  Type.Object(
    {
      ...PipelineDocument.properties,
      source: Type.Unknown(),
      dataset: Type.String(),
      output_options: Type.Optional(Type.Unknown()),
    },
    strict,
  ),
  { defaults: true },
)
const SOURCE_ISSUES = Object.fromEntries(
  Object.entries(SOURCE_SCHEMAS).map(([kind, schema]) => [kind, issuesOf(schema)]),
) as Record<SourceKind, ReturnType<typeof issuesOf>>

const KINDS = Object.keys(SOURCE_SCHEMAS) as SourceKind[]
const INSIDE: readonly SourceKind[] = ['zone', 'account']
const OUTSIDE: readonly SourceKind[] = ['stdin']

function sourceIssues(source: unknown, inside: boolean): Issue[] {
  const elsewhere = inside ? OUTSIDE : INSIDE
  const allowed = KINDS.filter((kind) => !elsewhere.includes(kind))
  const asked = `must have one of ${allowed.join(', ')}`
  if (!isObject(source)) return [{ pointer: '/source', message: asked }]
  const [kind, second] = KINDS.filter((kind) => kind in source)
  if (kind === undefined) {
    const [key] = Object.keys(source)
    if (key === undefined) return [{ pointer: '/source', message: asked }]
    const meant = nearest(key, allowed)
    const message = meant === undefined ? `is no source; it ${asked}` : `is no source, did you mean ${meant}`
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
  return SOURCE_ISSUES[kind](source).map((issue) => ({ ...issue, pointer: `/source${issue.pointer}` }))
}

function noDataset(name: string): string {
  const meant = nearest(name, DATASETS.keys())
  return `is no dataset: ${name}${meant === undefined ? '' : `, did you mean ${meant}`}`
}

/** Paths are relative to the file. */
function settledSource(source: Source, folder: string): Source {
  if (!('file' in source)) return source
  const paths = typeof source.file === 'string' ? [source.file] : source.file
  return { ...source, file: paths.map((path) => resolve(folder, path)) }
}

/** `file:logs/{DATE}`, without a slash, is relative to the file. */
function absoluteDestination(text: string, folder: string): string {
  if (!text.startsWith('file:') || text.startsWith('file:/')) return text
  const [path = '', query] = text.slice('file:'.length).split('?', 2)
  return `file://${resolve(folder, path)}${query === undefined ? '' : `?${query}`}`
}

function repeatedNames(pipelines: readonly Pipeline[]): Issue[] {
  return pipelines.flatMap(({ name }, index) =>
    pipelines.findIndex((other) => other.name === name) < index
      ? [{ pointer: `/pipelines/${index}/name`, message: `${name} stands there twice` }]
      : [],
  )
}
