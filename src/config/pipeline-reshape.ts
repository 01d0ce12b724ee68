/** Changes that a pipeline or a route makes to its records: schema, and the tables that it refers to. */
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { Type, type Static } from 'typebox'
import { jsonText } from '../../pipelines/logpush/spool/json-text.js'
import type { Locate, Reshape } from '../../pipelines/records/index.js'
import type { Issue } from '../core/errors.js'
import type { TransformModule } from '../core/extension/record-transform.js'
import { pointerToken, strict } from '../core/schema.js'
import { textLookup } from '../lists/text-lookup.js'
import { Duration } from './units.js'

/** Facts about an address that a database of locations can have. */
export const GEO_FACTS = [
  'country',
  'continent',
  'region',
  'city',
  'postal_code',
  'latitude',
  'longitude',
  'timezone',
  'asn',
  'organization',
] as const
const LOOKUP_KINDS = ['ip', 'hostname', 'asn', 'text'] as const
const REDACTIONS = ['mask', 'query', 'address'] as const
const MAX_MEMBERS = 100
const MAX_ENTRIES = 1_000_000
const DEFAULT_ENTRIES = 100_000
const DEFAULT_WINDOW_MS = 600_000

const Name = Type.String({ minLength: 1, maxLength: 256 })
const Field = (description: string) => Type.String({ minLength: 1, maxLength: 256, description })
const GeoFile = (what: string) =>
  Type.Optional(Type.String({ minLength: 1, description: `${what} in MaxMind format.` }))

const Dedupe = Type.Object(
  {
    field: Field('Field by which records are the same. Records without it are all kept.'),
    window: Type.Optional(Duration(undefined, 'Time after the first record. Default: 10m.')),
    entries: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_ENTRIES,
        description: `Maximum number of remembered values; beyond it the oldest are forgotten. Default: ${DEFAULT_ENTRIES}.`,
      }),
    ),
  },
  strict,
)
const Redact = Type.Union(
  [
    Type.Enum([...REDACTIONS]),
    Type.Object(
      {
        hash: Type.String({
          minLength: 16,
          description: 'Key of the hash.',
          'x-message': 'must be at least 16 characters long',
        }),
      },
      strict,
    ),
  ],
  { 'x-message': `must be ${REDACTIONS.join(', ')} or { hash: KEY } with a key of at least 16 characters` },
)
const Geo = Type.Object(
  {
    field: Field('Field with the address.'),
    set: Type.Object(Object.fromEntries(GEO_FACTS.map((fact) => [fact, Type.Optional(Name)])), {
      ...strict,
      minProperties: 1,
      description: `New fields by what they get: ${GEO_FACTS.join(', ')}.`,
    }),
    city_file: GeoFile('Database of cities'),
    country_file: GeoFile('Database of countries'),
    asn_file: GeoFile('Database of autonomous systems'),
  },
  strict,
)
const Lookup = Type.Object(
  {
    field: Field('Field whose value is looked up.'),
    list: Type.Union(
      [
        Name,
        Type.Object(
          { kind: Type.Enum([...LOOKUP_KINDS]), items: Type.Array(Type.Unknown(), { maxItems: 100_000 }) },
          strict,
        ),
      ],
      {
        description: `Name of a list in the section lists of the daemon, or { kind, items } with kind ${LOOKUP_KINDS.join(', ')}.`,
        'x-message': `must be the name of a list, or { kind: ${LOOKUP_KINDS.join(' | ')}, items: [..] }`,
      },
    ),
    set: Field('New field: true if the list has the value, else false.'),
  },
  strict,
)
const limited = { maxProperties: MAX_MEMBERS, minProperties: 1 } as const

/** Members of a pipeline or route that change its records, in the order in which they act. */
export const RESHAPE = {
  dedupe: Type.Optional(
    Type.Unsafe<Static<typeof Dedupe>>({
      ...Dedupe,
      description: 'Leaves out records with a value of `field` that a record before them had within `window`.',
    }),
  ),
  transform: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 4096,
      description:
        'Changes records by code: the path of a JavaScript module whose default export has record(record). It returns a ' +
        'record, an array of records, or null to leave the record out.',
    }),
  ),
  redact: Type.Optional(
    Type.Record(Type.String(), Redact, {
      ...limited,
      description:
        'Hides values of fields. mask: "***". query: strings without their query, from the first question mark on. address: ' +
        'IPv4 without the last 8 bits, IPv6 without the last 80. { hash: KEY }: HMAC-SHA-256, 32 hexadecimal digits. Values ' +
        'that a method cannot judge are masked.',
    }),
  ),
  drop: Type.Optional(Type.Array(Name, { maxItems: MAX_MEMBERS, minItems: 1, description: 'Leaves out fields.' })),
  rename: Type.Optional(
    Type.Record(Type.String(), Name, { ...limited, description: 'New names of fields, by their names.' }),
  ),
  geo: Type.Optional(
    Type.Unsafe<Static<typeof Geo>>({
      ...Geo,
      description: 'Adds the location of an address. Databases: its own, or those of the section geo of the daemon.',
    }),
  ),
  lookup: Type.Optional(
    Type.Array(Lookup, { maxItems: 20, minItems: 1, description: 'Adds whether a list has the value of a field.' }),
  ),
  set: Type.Optional(
    Type.Record(Type.String(), Type.Unsafe<unknown>({}), {
      ...limited,
      description:
        'Adds constants: strings, numbers, true, false or null; ${NAME} is a variable of the environment, { from: host } the ' +
        'name of the host, { from: pipeline } that of the pipeline.',
    }),
  ),
}

/** Paths of the databases of locations. */
export type GeoFilesOption = Pick<Static<typeof Geo>, 'city_file' | 'country_file' | 'asn_file'>

/** What reshaping refers to outside of the pipeline. */
export interface ReshapeContext {
  readonly folder: string
  /** Name of the pipeline. */
  readonly name: string
  /** Lists and databases of the daemon. Undefined for pipelines that run without it. */
  readonly daemon?:
    | {
        readonly lists: readonly { readonly name: string; readonly kind: string; readonly items: readonly unknown[] }[]
        readonly geo: GeoFilesOption
      }
    | undefined
  readonly checks: {
    /** Opens databases of locations; returns a message if that is not possible. */
    locator(files: GeoFilesOption): Locate | string
    /** Reads the module of a transform; returns a message if that is not possible. */
    transform(file: string): TransformModule | string
  }
}

type Given = { readonly [K in keyof typeof RESHAPE]?: Static<(typeof RESHAPE)[K]> | undefined }

/**
 * Reads the changes that a pipeline or route makes to its records. The names of fields are checked when the job is
 * compiled.
 */
export function readReshape(given: Given, context: ReshapeContext) {
  const issues: Issue[] = []
  const { rename, drop, redact, dedupe } = given
  const set = given.set && constants(given.set, context, issues)
  const geo = given.geo && located(given.geo, context, issues)
  const transform = given.transform === undefined ? undefined : moduleOf(given.transform, context, issues)
  const lookup = given.lookup?.flatMap((one, index) => listed(one, `/lookup/${index}/list`, context, issues))
  const reshape: Reshape = { set, rename, drop, redact, geo, lookup }
  const isEmpty = Object.values(reshape).every((member) => member === undefined)
  const { field, window = DEFAULT_WINDOW_MS, entries = DEFAULT_ENTRIES } = dedupe ?? {}
  return {
    issues,
    transform,
    reshape: isEmpty ? undefined : reshape,
    dedupe: field === undefined ? undefined : { field, window, entries },
  }
}

function moduleOf(file: string, { folder, checks }: ReshapeContext, issues: Issue[]): TransformModule | undefined {
  const module = checks.transform(resolve(folder, file))
  if (typeof module !== 'string') return module
  issues.push({ pointer: '/transform', message: module })
  return undefined
}

function constants(
  given: Readonly<Record<string, unknown>>,
  { name }: ReshapeContext,
  issues: Issue[],
): Record<string, string> {
  const variables: Readonly<Record<string, () => string>> = { host: hostname, pipeline: () => name }
  const texts = Object.entries(given).flatMap(([member, value]): [string, string][] => {
    if (value === null || ['string', 'number', 'bigint', 'boolean'].includes(typeof value))
      return [[member, jsonText(value)]]
    const from = typeof value === 'object' && Object.keys(value).length === 1 ? (value as { from?: unknown }).from : ''
    const variable = typeof from === 'string' && Object.hasOwn(variables, from) ? variables[from] : undefined
    if (variable !== undefined) return [[member, JSON.stringify(variable())]]
    const message = 'must be a string, a number, true, false, null, { from: host } or { from: pipeline }'
    issues.push({ pointer: `/set/${pointerToken(member)}`, message })
    return []
  })
  return Object.fromEntries(texts)
}

function located(
  { field, set, ...own }: NonNullable<Given['geo']>,
  { folder, daemon, checks }: ReshapeContext,
  issues: Issue[],
): Reshape['geo'] {
  const isOwn = Object.keys(own).length > 0
  const files = Object.entries(isOwn ? own : (daemon?.geo ?? {}))
  if (files.length === 0) {
    issues.push({
      pointer: '/geo',
      message: 'needs city_file, country_file or asn_file, or the section geo of the daemon',
    })
    return undefined
  }
  const locate = checks.locator(Object.fromEntries(files.map(([name, path]) => [name, resolve(folder, path)])))
  if (typeof locate !== 'string') return { field, set: set as Record<string, string>, locate }
  issues.push({ pointer: '/geo', message: locate })
  return undefined
}

function listed(
  { field, list, set }: NonNullable<Given['lookup']>[number],
  pointer: string,
  { daemon }: ReshapeContext,
  issues: Issue[],
): { field: string; set: string; has: (value: string) => boolean }[] {
  const named = typeof list === 'string' ? list : 'it'
  const found = typeof list === 'string' ? daemon?.lists.find(({ name }) => name === list) : list
  if (found === undefined) {
    const where =
      daemon === undefined ? 'only pipelines of the daemon have lists; write { kind, items }' : 'add it to lists'
    issues.push({ pointer, message: `${named} is not a list of the configuration; ${where}` })
    return []
  }
  const { kind, items } = found
  if (kind === 'text') {
    const texts = new Set(items.map(String))
    return [{ field, set, has: (value) => texts.has(value) }]
  }
  if (kind !== 'ip' && kind !== 'hostname' && kind !== 'asn') {
    issues.push({ pointer, message: `${named} is a list of redirects; use one of kind ip, hostname or asn` })
    return []
  }
  const { has, issues: wrong } = textLookup(kind, items)
  issues.push(...wrong.map((issue) => ({ ...issue, pointer: pointer + issue.pointer })))
  return [{ field, set, has }]
}
