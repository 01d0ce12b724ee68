import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import addFormats from 'ajv-formats'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import { Ajv2020, type Options, type ValidateFunction } from 'ajv/dist/2020.js'
import equal from 'ajv/dist/runtime/equal.js'
import ucs2length from 'ajv/dist/runtime/ucs2length.js'
import type { TSchema } from 'typebox'

/** How a validator treats a value. */
interface Mode {
  /** True: members that are absent get the default of their schema. */
  readonly defaults: boolean
  /** True: finds all errors. False: stops at the first error. */
  readonly allErrors: boolean
}

/** Functions that the code of validators calls. */
export const RUNTIME = { equal: equal.default, ucs2length: ucs2length.default, formats: fullFormats }

/** Code of a validator that the build wrote. Errors show parts of `schema`, which is equal to the compiled schema. */
type WrittenValidator = (schema: TSchema, runtime: typeof RUNTIME) => ValidateFunction

/** The code of a schema that the build wrote. */
interface WrittenModule {
  readonly first: WrittenValidator
  readonly all: WrittenValidator
}

const require = createRequire(import.meta.url)

/** Compilers, by their options. Only for schemas that the build did not compile. */
const compilers = new Map<string, Ajv2020>()

let observe: ((schema: TSchema, defaults: boolean) => void) | undefined

/** Calls `observer` with each schema that is checked from now on. The build compiles these schemas. */
export function observeSchemas(observer: (schema: TSchema, defaults: boolean) => void): void {
  observe = observer
}

/**
 * Returns a function that returns the validator of a schema. The build writes the code of validators to the folder `validators`
 * beside the programs. A schema of a plug-in has no such code, and no schema has such code in development. They are
 * compiled at their first use.
 */
export function validatorsOf(schema: TSchema, defaults: boolean): (allErrors: boolean) => ValidateFunction {
  observe?.(schema, defaults)
  let written: WrittenModule | undefined
  let isLooked = false
  return (allErrors) => {
    if (!isLooked) written = load(validatorKey(schema, defaults))
    isLooked = true
    const make = allErrors ? written?.all : written?.first
    return make?.(schema, RUNTIME) ?? compile(schema, { defaults, allErrors })
  }
}

/** Names the code of a schema. A schema with any other content has another name. */
export const validatorKey = (schema: TSchema, defaults: boolean): string =>
  createHash('sha256')
    .update(JSON.stringify([schema, defaults]))
    .digest('hex')
    .slice(0, 32)

function load(key: string): WrittenModule | undefined {
  try {
    return require(`./validators/${key}.cjs`) as WrittenModule
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error
    return undefined
  }
}

function compile(schema: TSchema, mode: Mode): ValidateFunction {
  const key = JSON.stringify(mode)
  const compiler = compilers.get(key) ?? compilerOf(mode)
  compilers.set(key, compiler)
  return compiler.compile(schema)
}

/** Creates a compiler of schemas. */
export const compilerOf = ({ defaults, allErrors }: Mode, code: Options['code'] = {}): Ajv2020 =>
  addFormats.default(
    new Ajv2020({
      discriminator: true,
      allowUnionTypes: true,
      verbose: true,
      strict: false,
      // All schemas are part of this program. Validating them would take most of the time of their first use.
      validateSchema: false,
      useDefaults: defaults,
      allErrors,
      // Optimizing takes half of the time to compile, and the engine does the same.
      code: { optimize: false, ...code },
    }),
  )
