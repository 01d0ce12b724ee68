import type { TSchema } from 'typebox'
import { InvalidInput, type Issue } from '../../src/core/errors.js'
import { nearest } from '../../src/core/nearest.js'
import { parser, pointerToken } from '../../src/core/schema.js'

interface Property {
  readonly type?: string
  readonly items?: Property
}

/** The parsed query of a URL. */
interface ParsedQuery {
  readonly value: unknown
  /** An issue for each unknown parameter that was ignored. */
  readonly ignored: readonly Issue[]
}

/** How parameters are treated that are not in the schema. */
interface UnknownParameters {
  /** True: they are ignored and reported. False: they are refused. */
  readonly areIgnored: boolean
  /** Names that are accepted without effect, unreported. */
  readonly accepted?: readonly string[] | undefined
}

/** Unknown parameters of one request that are reported. The others are ignored or refused with them. */
const MAX_REPORTED = 20

/** A query that does not fit its schema. Reported like an invalid body, with the error row for queries. */
export class InvalidQuery extends InvalidInput {}

/**
 * Converts the query of a URL to the typed object of its schema, with defaults. Numbers and booleans are parsed,
 * lists are read from repeated names or commas.
 */
export function queryParser(
  schema: TSchema,
  { areIgnored, accepted = [] }: UnknownParameters,
): (query: URLSearchParams) => ParsedQuery {
  const parse = parser(schema, { defaults: true })
  const properties = Object.entries((schema as { properties?: Record<string, Property> }).properties ?? {})
  const names: ReadonlySet<string> = new Set(properties.map(([name]) => name))
  return (query) => {
    const unknown = [...new Set(query.keys())]
      .filter((name) => !names.has(name) && !accepted.includes(name))
      .slice(0, MAX_REPORTED)
      .map((name) => unknownParameter(name, names))
    const issues: Issue[] = areIgnored ? [] : unknown
    const input: Record<string, unknown> = {}
    for (const [name, property] of properties) {
      const texts = query.getAll(name)
      if (texts.length === 0) continue
      if (property.type !== 'array' && texts.length > 1)
        issues.push({ pointer: `/${pointerToken(name)}`, message: 'is given twice' })
      input[name] =
        property.type === 'array'
          ? texts.flatMap((text) => text.split(',')).map((text) => read(text, property.items))
          : read(texts[0] ?? '', property)
    }
    try {
      const value = parse(input)
      if (issues.length === 0) return { value, ignored: areIgnored ? unknown : [] }
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error
      issues.push(...error.issues)
    }
    throw new InvalidQuery(issues)
  }
}

function unknownParameter(name: string, names: ReadonlySet<string>): Issue {
  const meant = nearest(name, [...names])
  const advice = meant === undefined ? '' : `; did you mean ${meant}?`
  return { pointer: `/${pointerToken(name)}`, message: `unknown query parameter${advice}` }
}

/** Returns the value of one string, or the string itself if it is not of the type (the schema reports that). */
function read(text: string, property: Property | undefined): unknown {
  if ((property?.type === 'integer' || property?.type === 'number') && /^-?\d{1,15}(\.\d+)?$/.test(text))
    return Number(text)
  if (property?.type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}
