/** The reference of pipeline files for docs/pipelines.md, generated from the schemas. */
import { PipelineDocument, RouteDocument } from './pipeline.js'
import { RESHAPE } from './pipeline-reshape.js'
import { SOURCE_SCHEMAS } from './pipeline-sources.js'

interface Shape {
  readonly type?: unknown
  readonly description?: string
  readonly default?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly enum?: readonly unknown[]
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Shape>>
  readonly items?: Shape
  readonly anyOf?: readonly Shape[]
}

/** Returns the schemas as data. */
function shapesOf(schemas: object): Readonly<Record<string, Shape>> {
  return schemas as Readonly<Record<string, Shape>>
}

const STAGES = shapesOf(RESHAPE)
const ROUTE = shapesOf(RouteDocument.properties)

/** Returns the reference, in Markdown: members of a pipeline, and options of sources. */
export function pipelineManual(): string {
  const members = Object.entries(shapesOf(PipelineDocument.properties))
    .filter(([name]) => !(name in STAGES))
    .map(([name, shape]) => item(name in ROUTE && name !== 'name' ? `${name} (routes too)` : name, shape))
  const sources = Object.entries(shapesOf(SOURCE_SCHEMAS)).flatMap(([kind, shape]) => [
    item(kind, shape),
    ...optionsOf(kind, shape).map(([name, option]) => `  ${item(name, option)}`),
  ])
  return ['### Members of a pipeline', '', ...members, '', '### Options of sources', '', ...sources, ''].join('\n')
}

/** Returns the table of the stages that change records, in Markdown. Required options are bold. */
export function stageTable(): string {
  const rows = Object.entries(STAGES).map(([name, shape]) => {
    const { properties = {}, required = [] } = shape.items ?? shape
    const options = Object.keys(properties).map((option) => (required.includes(option) ? `**${option}**` : option))
    return `| \`${name}\` | ${described(shape).replaceAll('|', '\\|')} | ${options.join(', ')} |`
  })
  return ['| Stage | What it does | Options |', '| --- | --- | --- |', ...rows, ''].join('\n')
}

function optionsOf(kind: string, { properties = {} }: Shape): (readonly [name: string, shape: Shape])[] {
  const { [kind]: own = {}, ...beside } = properties
  const inner = objectOf(own)
  return [
    ...(own === inner ? [] : [[kind, own] as const]),
    ...Object.entries(inner?.properties ?? {}).map(([name, shape]) => [`${kind}.${name}`, shape] as const),
    ...Object.entries(beside),
  ]
}

/** The object among the notations of an option. Undefined if it has none. */
const objectOf = (shape: Shape): Shape | undefined =>
  shape.properties === undefined ? shape.anyOf?.map(objectOf).find((found) => found !== undefined) : shape

function described(shape: Shape): string {
  const { description = shape.anyOf?.find((one) => one.description !== undefined)?.description ?? '' } = shape
  const { default: otherwise, minimum, maximum, enum: values } = shape
  const parts = [description]
  if (values !== undefined && values.length <= 10 && !values.every((value) => description.includes(String(value))))
    parts.push(`One of ${values.map((value) => `\`${String(value)}\``).join(', ')}.`)
  if (minimum !== undefined && maximum !== undefined && !description.includes(String(maximum)))
    parts.push(`From ${minimum} to ${maximum}.`)
  if (typeof otherwise === 'string' && !description.includes('Default')) parts.push(`Default: ${otherwise}.`)
  return parts.filter((part) => part !== '').join(' ')
}

const item = (name: string, shape: Shape): string =>
  `- \`${name}\`: ${described(shape)}`.replace(/`(\S+) (\(.*?\))`/, '`$1` $2')
