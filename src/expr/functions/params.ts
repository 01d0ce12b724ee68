import type { ArgInfo, Param } from '../language/scheme.js'
import { BYTES, INT, type Type } from '../language/types.js'

type Kind = Param['kind']
type Check = (arg: ArgInfo) => string | undefined

const param = (kind: Kind, expected: string, accepts: Param['accepts'], check?: Check): Param =>
  check === undefined ? { kind, expected, accepts } : { kind, expected, accepts, check }

/** Returns a parameter of one type. */
export const of = (type: Type, kind: Kind = 'field', check?: Check): Param =>
  param(kind, type.name, (found) => found === type, check)

export const bytes = (kind: Kind = 'field', check?: Check): Param => of(BYTES, kind, check)

/** Returns an Int parameter. The bounds apply to literals. */
export const int = (kind: Kind = 'any', min = -Infinity, max = Infinity): Param =>
  of(INT, kind, ({ literal }) => {
    if (typeof literal !== 'number' || (literal >= min && literal <= max)) return undefined
    return `must be between ${min} and ${max}, found ${literal}`
  })

/** Returns a parameter that accepts several types. */
export const oneOf = (expected: string, accepts: Param['accepts'], kind: Kind = 'field'): Param =>
  param(kind, expected, accepts)

/** Returns a parameter for a literal of single-letter flags, each at most once. */
export const flags = (letters: string): Param =>
  bytes('literal', ({ literal }) => {
    const found = Array.from(String(literal))
    const wrong = found.find((letter, at) => !letters.includes(letter) || found.indexOf(letter) !== at)
    return wrong === undefined ? undefined : `flags are ${Array.from(letters).join(', ')}, each once; found "${wrong}"`
  })

const MAX_REFERENCES = 8

const referencesIn = (template: string): number => (template.match(/\$\{[0-9]+\}/g) ?? []).length

/** Returns a parameter for text with at most eight `${n}` references. */
export const replacement = (): Param =>
  bytes('any', ({ literal }) => {
    const references = typeof literal === 'string' ? referencesIn(literal) : 0
    return references > MAX_REFERENCES
      ? `a replacement has at most ${MAX_REFERENCES} references, found ${references}`
      : undefined
  })

/**
 * Returns `template` with `${n}` replaced by group n ("" if it does not exist) and `$$` by `$`. Undefined if it has
 * more references than are allowed, because a client can send the template, and each reference repeats a text of the
 * client.
 */
export function expand(template: string, group: (index: number) => string): string | undefined {
  if (!template.includes('$')) return template
  if (referencesIn(template) > MAX_REFERENCES) return undefined
  return template.replace(/\$\$|\$\{([0-9]+)\}/g, (_, index?: string) =>
    index === undefined ? '$' : group(Number(index)),
  )
}
