import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js'
import { Type, type Static, type TSchema, type TSchemaOptions } from 'typebox'
import { InvalidInput, type Issue } from './errors.js'
import { keywordMessage, typeNames } from './keyword-message.js'
import { nearest } from './nearest.js'
import { validatorsOf } from './validators.js'

/**
 * Maximum size of an input for which all errors are reported. Beyond it, only the first error is reported, because all
 * errors could fill the memory.
 */
const MAX_EXPLAINED = 10_000

interface CheckOptions {
  /** Members that are absent get the default of their schema. */
  readonly defaults?: boolean
}

/** Returns a function that returns its argument, typed, or throws {@link InvalidInput}. */
export function parser<S extends TSchema>(schema: S, options: CheckOptions = {}): (input: unknown) => Static<S> {
  const check = issuesOf(schema, options)
  return (input) => {
    const found = check(input)
    if (found.length > 0) throw new InvalidInput(found)
    return input as Static<S>
  }
}

/**
 * Returns a function that returns the issues of its argument, one per pointer. The list is empty if the argument is
 * valid.
 */
export function issuesOf(
  schema: TSchema,
  { defaults = false }: CheckOptions = {},
): (input: unknown) => readonly Issue[] {
  const validators = validatorsOf(schema, defaults)
  // Made at first use, so that unused schemas do not delay the start.
  let first: ValidateFunction | undefined
  // Only for inputs with issues, which are rare.
  let all: ValidateFunction | undefined
  return (input) => {
    first ??= validators(false)
    if (first(input)) return NONE
    const { errors } = first
    if (!fewer(input, MAX_EXPLAINED)) return issues(errors ?? [])
    all ??= validators(true)
    all(input)
    return issues(all.errors ?? errors ?? [])
  }
}

/** Returns the members of a value without issues, which can be checked further. */
export function soundMembers<T extends object>(value: T, issues: readonly Issue[]): Partial<T> {
  const wrong = new Set(issues.map(({ pointer }) => pointer.split('/', 2)[1]))
  return Object.fromEntries(Object.entries(value).filter(([name]) => !wrong.has(pointerToken(name)))) as Partial<T>
}

const NONE: readonly Issue[] = []

/** Returns whether a value has fewer than `most` members in all. Stops counting at `most`. */
function fewer(value: unknown, max: number): boolean {
  const open = [value]
  let found = 0
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next === null || typeof next !== 'object') continue
    const members: readonly unknown[] = Array.isArray(next) ? next : Object.values(next)
    found += members.length
    if (found >= max) return false
    for (const member of members) if (typeof member === 'object') open.push(member)
  }
  return true
}

/** Returns one issue per pointer. A failed union has its own message instead of the messages of its branches. */
function issues(errors: readonly ErrorObject[]): Issue[] {
  const found = new Map<string, string>()
  for (const error of meant(errors)) {
    const { pointer, message } = issue(error)
    const known = found.get(pointer)
    if (known === undefined || error.keyword === 'anyOf') found.set(pointer, message)
  }
  return [...found].map(([pointer, message]) => ({ pointer, message }))
}

/**
 * Returns the errors without errors of unintended union branches. If all branches but one reject the type of the value,
 * as in "an object or null", the other branch has the error. ajv puts a union's error right after the errors of its
 * branches.
 */
function meant(errors: readonly ErrorObject[]): ErrorObject[] {
  const kept: ErrorObject[] = []
  for (const error of errors) {
    // The schemas of the condition have errors of their own, which name the member.
    if (error.keyword === 'if') continue
    kept.push(error)
    if (error.keyword !== 'anyOf') continue
    const path = `${error.schemaPath}/`
    let start = kept.length - 1
    while (start > 0 && within(kept[start - 1], error)) start -= 1
    const inside = kept.slice(start, -1)
    const branchOf = ({ schemaPath }: ErrorObject) => schemaPath.slice(path.length).split('/', 1)[0]
    const close = inside.filter((one) => one.instancePath !== error.instancePath || !KINDS.has(one.keyword))
    const branches = new Set(close.map(branchOf))
    if (branches.size === 1) kept.splice(start, Infinity, ...inside.filter((one) => branches.has(branchOf(one))))
  }
  return kept
}

/** Returns whether an error comes from a branch of the union. */
function within(inner: ErrorObject | undefined, { schemaPath, instancePath }: ErrorObject): boolean {
  if (!inner?.schemaPath.startsWith(`${schemaPath}/`)) return false
  return inner.instancePath === instancePath || inner.instancePath.startsWith(`${instancePath}/`)
}

/** Keywords that reject a value itself, not a part of the value. */
const KINDS: ReadonlySet<string> = new Set(['type', 'const', 'enum', 'anyOf'])

function issue(error: ErrorObject): Issue {
  const { params, instancePath, keyword } = error
  const own: unknown = error.parentSchema?.['x-message']
  const member: unknown = params['missingProperty'] ?? params['additionalProperty'] ?? params['propertyName']
  if (typeof member === 'string') {
    const message =
      keyword === 'additionalProperties'
        ? `${UNKNOWN_MEMBER}${meantBy(member, error.parentSchema?.['properties'])}`
        : keyword === 'required'
          ? 'is required'
          : (error.message ?? 'is not valid')
    return { pointer: `${instancePath}/${pointerToken(member)}`, message }
  }
  if (typeof own === 'string') return { pointer: instancePath, message: own }
  if (keyword === 'enum') return { pointer: instancePath, message: `must be one of ${listed(params['allowedValues'])}` }
  if (keyword === 'const')
    return { pointer: instancePath, message: `must be ${JSON.stringify(params['allowedValue'])}` }
  if (keyword === 'discriminator')
    return { pointer: `${instancePath}/${String(params['tag'])}`, message: 'is not one of the known values' }
  if (keyword === 'anyOf') return { pointer: instancePath, message: alternatives(error.schema) }
  return { pointer: instancePath, message: keywordMessage(error) }
}

/** Start of the message about a member that no schema has. */
const UNKNOWN_MEMBER = 'is not a known member'

/** Returns whether an issue is about a member that the schema does not have. */
export const isUnknownMember = ({ message }: Issue): boolean => message.startsWith(UNKNOWN_MEMBER)

function meantBy(member: string, properties: unknown): string {
  const meant = typeof properties === 'object' ? nearest(member, Object.keys(properties ?? {})) : undefined
  return meant === undefined ? '' : `, did you mean ${meant}`
}

function alternatives(schema: unknown): string {
  const branches = Array.isArray(schema) ? schema : []
  const constants = branches.map((branch) => (branch as { const?: unknown }).const)
  if (constants.length > 0 && constants.every((value) => value !== undefined))
    return `must be one of ${listed(constants)}`
  const types = branches.map((branch) => (branch as { type?: unknown }).type)
  if (types.length > 0 && types.every((type) => typeof type === 'string')) return `must be ${typeNames(types)}`
  return 'fits none of the allowed forms'
}

const listed = (values: unknown): string =>
  (Array.isArray(values) ? values : []).map((value) => JSON.stringify(value)).join(', ')

/** Escapes one step of a JSON pointer (RFC 6901, 3). */
export const pointerToken = (step: string | number): string => String(step).replaceAll('~', '~0').replaceAll('/', '~1')

/** Returns a schema in which 0 switches the limit off. Any other value must fit `schema`. */
export const orOff = <S extends TSchema>(schema: S) => Type.Union([Type.Literal(0), schema])

/** Returns a schema for a value or null. */
export const orNull = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()])

/** Returns a schema for one of several object shapes, distinguished by the literal that each has in `key`. */
export function variants<const S extends TSchema[]>(key: string, shapes: [...S]) {
  return Type.Unsafe<Static<S[number]>>({
    type: 'object',
    discriminator: { propertyName: key },
    required: [key],
    oneOf: shapes,
  })
}

/**
 * Returns a schema for an object whose members, with any names, all fit `value`. TypeBox's own Record does not check
 * members whose names contain a line break.
 */
export const mapOf = <S extends TSchema>(value: S, options: TSchemaOptions = {}) =>
  Type.Unsafe<Record<string, Static<S>>>({ type: 'object', additionalProperties: value, ...options })

/** Options of an object that rejects unknown members. */
export const strict = { additionalProperties: false } as const

/**
 * Returns a schema that accepts any value, which is checked by hand later. The manual shows `schema` instead, as the
 * component `name`.
 */
export const checkedByHand = (name: string, schema: TSchema) =>
  Type.Unknown({ 'x-component': name, 'x-schema': schema })
