import { Type, type Static, type TSchema } from 'typebox'
import { InvalidInput } from '../../src/core/errors.js'
import { nearest } from '../../src/core/nearest.js'
import { issuesOf } from '../../src/core/schema.js'

/** Rejects a destination. `message` says why and never contains a value that may be secret. */
export function reject(message: string): never {
  throw new InvalidInput([{ pointer: '', message }])
}

/** Query parameters of a destination. They are strings, numbers or booleans, each with a description. */
export interface ParamSchema extends TSchema {
  readonly properties: Readonly<Record<string, TSchema>>
  readonly required?: readonly string[] | undefined
  readonly patternProperties?: Readonly<Record<string, TSchema>>
}

/** A parameter of text. */
export const text = (description: string, rules: { pattern?: string; maxLength?: number; 'x-message'?: string } = {}) =>
  Type.String({ description, ...rules })

/** A parameter whose value is never shown or logged. */
export const secret = (description: string) => Type.String({ description, 'x-secret': true })

/** A parameter whose name looks like a secret, but whose value is shown. */
export const shown = (description: string) => Type.String({ description, 'x-shown': true })

/** A parameter that is `true` or `false`. */
export const flag = (description: string, otherwise: boolean) =>
  Type.Optional(Type.Boolean({ description, 'x-default': otherwise, 'x-message': 'must be true or false' }))

/** A parameter that is a whole number within bounds, which are included. */
export const whole = (description: string, minimum: number, maximum: number) =>
  Type.Optional(
    Type.Integer({
      description,
      minimum,
      maximum,
      'x-message': `must be a whole number from ${minimum} to ${maximum}`,
    }),
  )

/** A parameter with one of a few values. */
export const choice = <const T extends string[]>(description: string, values: T) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: values, description })

/** Names of the parameters in a schema whose values are secret. */
export const secretsOf = ({ properties }: ParamSchema): string[] =>
  Object.entries(properties).flatMap(([name, schema]) => ('x-secret' in schema ? [name] : []))

/** Returns the names of parameters in a schema whose values are shown, independent of their names. */
export const shownOf = ({ properties }: ParamSchema): string[] =>
  Object.entries(properties).flatMap(([name, schema]) => ('x-shown' in schema ? [name] : []))

/** A parameter in the form that the query has. */
type Written = readonly [name: string, value: string]

/** Returns a function that checks parameters against a schema and converts them to its types. An empty value counts as absent. */
export function paramChecker<S extends ParamSchema>(schema: S): (written: readonly Written[]) => Static<S> {
  const check = issuesOf(schema)
  const names = Object.keys(schema.properties)
  return (written) => {
    const given = new Map<string, string>()
    for (const [name, value] of written) {
      if (!names.includes(name)) reject(unknown(name, names))
      if (given.has(name)) reject(`has a duplicate parameter ${name}`)
      given.set(name, value)
    }
    const values: Record<string, unknown> = {}
    for (const [name, value] of given) if (value !== '') values[name] = converted(value, schema.properties[name]!)
    const [issue] = check(values)
    if (issue !== undefined) reject(`has an invalid query: parameter ${issue.pointer.slice(1)} ${issue.message}`)
    return values as Static<S>
  }
}

/**
 * Returns a function that reads the query of a destination by a schema, percent-decoded. A plus sign stays one, because
 * keys contain it and users paste them unescaped. Throws InvalidInput with the pointer "".
 */
export function paramReader<S extends ParamSchema>(schema: S): (destination: URL) => Static<S> {
  const check = paramChecker(schema)
  return ({ search }) =>
    check(
      search
        .slice(1)
        .split('&')
        .filter((part) => part !== '')
        .map(nameAndValue),
    )
}

function converted(value: string, schema: TSchema): unknown {
  const { type } = schema as { readonly type?: string }
  if (type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true'
  if (type === 'integer' && /^\d{1,15}$/.test(value)) return Number(value)
  return value
}

function unknown(name: string, names: readonly string[]): string {
  // An unescaped `&` in a secret makes a part of the secret look like a name.
  const shown = NAME.test(name) ? ` ${name}` : ''
  const meant = nearest(name, names) ?? nearest(name.toLowerCase().replaceAll('_', '-'), names)
  return `has an unknown parameter${shown}${meant === undefined ? '' : `; did you mean ${meant}?`}`
}

const NAME = /^[a-z-]{1,24}$/

function nameAndValue(part: string): Written {
  const equals = part.indexOf('=')
  if (equals === -1) return [part, '']
  const name = part.slice(0, equals)
  try {
    return [name, decodeURIComponent(part.slice(equals + 1))]
  } catch {
    return reject(`has malformed percent-encoding in ${NAME.test(name) ? `the parameter ${name}` : 'a parameter'}`)
  }
}

/** The path of a destination, percent-decoded, without slashes at its ends. Throws InvalidInput if it is malformed. */
export function pathOf(destination: URL): string {
  try {
    return decodeURIComponent(destination.pathname).replace(/^\/+/, '').replace(/\/+$/, '')
  } catch {
    return reject('has malformed percent-encoding in its path')
  }
}
