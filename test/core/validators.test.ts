import { isDeepStrictEqual } from 'node:util'
import { runInThisContext } from 'node:vm'
import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js'
import t from 'tap'
import { Type, type TSchema } from 'typebox'
import { everySchema, writtenValidators } from '../../src/daemon/written-validators.js'
import { issuesOf } from '../../src/core/schema.js'
import { compilerOf, RUNTIME, validatorKey } from '../../src/core/validators.js'

/** Values that fit few schemas. */
const WRONG: readonly unknown[] = [
  null,
  true,
  -1,
  1.5,
  1e9,
  '',
  'x',
  'é'.repeat(300),
  '2026-01-01T00:00:00Z',
  [],
  [1, 1],
  {},
]
const MAX_VALUES = 60

type Made = (schema: TSchema, runtime: typeof RUNTIME) => ValidateFunction
const moduleOf = (code: string): { readonly first: Made; readonly all: Made } => {
  const exports = {}
  const run = runInThisContext(`(exports) => {${code}}`) as (exports: object) => void
  run(exports)
  return exports as { readonly first: Made; readonly all: Made }
}

interface Parts {
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, Parts>>
  readonly items?: Parts
  readonly anyOf?: readonly Parts[]
  readonly oneOf?: readonly Parts[]
  readonly minItems?: number
}

/** Returns values of the form of a schema, which may still break other rules of it. */
function* likely(schema: Parts, depth = 0): Generator {
  if (schema.const !== undefined) yield schema.const
  else if (schema.enum) yield* schema.enum.slice(0, 2)
  else if (schema.anyOf ?? schema.oneOf)
    for (const branch of schema.anyOf ?? schema.oneOf ?? []) yield* likely(branch, depth)
  else if (schema.type === 'array') yield* lists(schema, depth)
  else if (schema.type === 'object') yield* objects(schema, depth)
  else if (schema.default !== undefined) yield schema.default
  else if (schema.type === 'string') yield 'abc'
  else if (schema.type === 'boolean') yield false
  else yield 1
}

function* lists({ items = {}, minItems = 0 }: Parts, depth: number): Generator {
  if (depth > 3) return void (yield [])
  for (const item of likely(items, depth + 1)) yield Array.from({ length: Math.max(minItems, 1) }, () => item)
}

/** The whole object, and the object without one member, with another value of a member, and with an unknown member. */
function* objects({ properties = {} }: Parts, depth: number): Generator {
  const names = Object.keys(properties)
  const whole = Object.fromEntries(names.map((name) => [name, depth > 3 ? {} : firstOf(properties[name]!, depth + 1)]))
  yield whole
  yield { ...whole, unknown: 1 }
  for (const name of names) {
    yield Object.fromEntries(Object.entries(whole).filter(([other]) => other !== name))
    for (const value of WRONG) yield { ...whole, [name]: value }
    if (depth < 2) for (const value of likely(properties[name]!, depth + 1)) yield { ...whole, [name]: value }
  }
}

const firstOf = (schema: Parts, depth: number): unknown => likely(schema, depth).next().value

/** Some of the values, from all places of the schema. */
function valuesFor(schema: TSchema): unknown[] {
  const all = [...WRONG]
  for (const value of likely(schema)) if (all.push(value) > 8 * MAX_VALUES) break
  const step = Math.ceil(all.length / MAX_VALUES)
  return all.filter((_, index) => index % step === 0)
}

/** Errors with the parts of the schema that they show, which are the parts of the same schema. */
const same = (one: ErrorObject, other: ErrorObject): boolean =>
  one.schema === other.schema &&
  one.parentSchema === other.parentSchema &&
  isDeepStrictEqual(textsOf(one), textsOf(other))
const textsOf = ({ schema: _schema, parentSchema: _parent, ...rest }: ErrorObject): object => rest

t.test('validators that the build writes find the errors that compiled ones find', { timeout: 600_000 }, async (t) => {
  const schemas = await everySchema()
  t.ok(schemas.size > 250, `${schemas.size} schemas`)
  const found = { valid: 0, invalid: 0 }
  for (const [key, { schema, defaults }] of schemas) {
    const written = moduleOf(writtenValidators({ schema, defaults }))
    for (const allErrors of [false, true]) {
      const compiled = compilerOf({ defaults, allErrors }).compile(schema)
      const made = (allErrors ? written.all : written.first)(schema, RUNTIME)
      const differing = valuesFor(schema).filter((value) => {
        const [one, other] = [structuredClone(value), structuredClone(value)]
        found[compiled(one) ? 'valid' : 'invalid'] += 1
        made(other)
        const errors = [compiled.errors ?? [], made.errors ?? []] as const
        return (
          !isDeepStrictEqual(one, other) ||
          errors[0].length !== errors[1].length ||
          !errors[0].every((error, index) => same(error, errors[1][index]!))
        )
      })
      if (differing.length > 0) t.same(differing[0], [], `${key} ${JSON.stringify(schema).slice(0, 300)}`)
    }
  }
  t.ok(found.valid > 500 && found.invalid > 5000, JSON.stringify(found))
})

t.test('a schema of other content has other validators', async (t) => {
  const schema = Type.Object({ a: Type.String({ default: 'x' }) })
  t.equal(validatorKey(schema, true), validatorKey(Type.Object({ a: Type.String({ default: 'x' }) }), true))
  t.not(validatorKey(schema, false), validatorKey(schema, true))
  t.not(validatorKey(Type.Object({ a: Type.String({ default: 'y' }) }), true), validatorKey(schema, true))
  t.same(issuesOf(schema)({ a: 1 }), [{ pointer: '/a', message: 'must be a string, but is 1' }])
})
