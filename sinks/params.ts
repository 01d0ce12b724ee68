import { InvalidInput } from '../src/core/errors.js'

/** Refuses a destination; `message` says why and never holds a value of it that may be secret. */
export function refuse(message: string): never {
  throw new InvalidInput([{ pointer: '', message }])
}

/** Parameters of a destination by name; absent where they were not given or are empty. */
export type Params<N extends string> = Readonly<Partial<Record<N, string>>>

/**
 * The query of a destination, percent-decoded; a plus sign stays one, because keys contain it and users paste them as
 * they are. Throws InvalidInput for an unknown name, a name given twice and malformed text.
 */
export function params<N extends string>(destination: URL, known: readonly N[]): Params<N> {
  const found: Partial<Record<N, string>> = {}
  for (const part of destination.search.slice(1).split('&')) {
    if (part === '') continue
    const [name, value] = halves(part)
    const match = known.find((one) => one === name)
    if (match === undefined) refuse(`has an unknown parameter${NAME.test(name) ? ` ${name}` : ''}`)
    if (found[match] !== undefined) refuse(`has the parameter ${match} twice`)
    found[match] = decoded(value, match)
  }
  for (const name of known) if (found[name] === '') delete found[name]
  return found
}

/** What may be shown of an unknown name: an unescaped `&` in a secret makes a part of that look like one. */
const NAME = /^[a-z-]{1,24}$/

function halves(part: string): [string, string] {
  const equals = part.indexOf('=')
  return equals === -1 ? [part, ''] : [part.slice(0, equals), part.slice(equals + 1)]
}

function decoded(value: string, name: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return refuse(`has a malformed parameter ${name}`)
  }
}

/** A parameter that is `true` or `false`. */
export function flag<N extends string>(given: Params<N>, name: N, otherwise: boolean): boolean {
  const value = given[name]
  if (value === undefined) return otherwise
  if (value !== 'true' && value !== 'false') refuse(`has a parameter ${name} that is neither true nor false`)
  return value === 'true'
}

/** A parameter that is a whole number within bounds, which are in. */
export function whole<N extends string>(given: Params<N>, name: N, least: number, most: number): number | undefined {
  const value = given[name]
  if (value === undefined) return undefined
  const number = /^\d{1,15}$/.test(value) ? Number(value) : NaN
  if (!(number >= least && number <= most)) refuse(`has a parameter ${name} that is no number from ${least} to ${most}`)
  return number
}

/** The path of a destination, percent-decoded, without slashes at its ends. Throws InvalidInput where it is malformed. */
export function pathOf(destination: URL): string {
  try {
    return decodeURIComponent(destination.pathname).replace(/^\/+/, '').replace(/\/+$/, '')
  } catch {
    return refuse('has a malformed path')
  }
}
