import { _, type Code, type Name } from 'ajv/dist/compile/codegen/index.js'
import standalone from 'ajv/dist/standalone/index.js'
import type { TSchema } from 'typebox'
import { compilerOf, observeSchemas, validatorKey } from '../core/validators.js'

/** Schema that is checked, and whether absent members get their default. */
interface CheckedSchema {
  readonly schema: TSchema
  readonly defaults: boolean
}

/** Returns the schemas that the daemon and the commands check values with, by the names of their code. */
export async function everySchema(): Promise<ReadonlyMap<string, CheckedSchema>> {
  const found = new Map<string, CheckedSchema>()
  observeSchemas((schema, defaults) => void found.set(validatorKey(schema, defaults), { schema, defaults }))
  // Loaded now, so that no checker was made before.
  const { everyEndpoint } = await import('./every-endpoint.js')
  await everyEndpoint()
  await import('./index.js')
  observeSchemas(() => undefined)
  return found
}

/** Returns the code of the validators of a schema: the module that `validatorsOf` loads. */
export const writtenValidators = (checked: CheckedSchema): string =>
  `'use strict'\nexports.first = ${written(checked, false)}\nexports.all = ${written(checked, true)}\n`

function written({ schema, defaults }: CheckedSchema, allErrors: boolean): string {
  const compiler = compilerOf({ defaults, allErrors }, { source: true, optimize: true, formats: _`runtime.formats` })
  const validate = compiler.compile(schema)
  for (const name of validate.source?.scopeValues['schema'] ?? []) referToRoot(name, schema)
  const code = standalone
    .default(compiler, validate)
    .replaceAll(/require\("ajv\/dist\/runtime\/(equal|ucs2length)"\)\.default/g, 'runtime.$1')
  if (code.includes('require(')) throw new Error(`a function of ajv is missing in RUNTIME: ${start(schema)}`)
  return `(schema, runtime) => {\nconst module = {}\n${code}\nreturn module.exports\n}`
}

/** Lets code refer to the schema that it is called with instead of a copy. */
function referToRoot(name: Name & { value?: { ref?: unknown; code?: Code } }, schema: TSchema): void {
  if (name.value?.ref !== schema) throw new Error(`a validator refers to more than its schema: ${start(schema)}`)
  name.value.code = _`schema`
}

/** Says in errors which schema is meant. */
const start = (schema: TSchema): string => JSON.stringify(schema).slice(0, 200)
