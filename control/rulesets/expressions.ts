import { Type } from 'typebox'
import { strict } from '../../src/core/schema.js'
import { check, FIELDS, FUNCTIONS, MAX_LENGTH } from '../../src/expr/index.js'
import { PHASES } from '../../src/rules/phases.js'
import { ACCESS } from '../http/permissions.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY } from '../http/endpoint.js'

const Place = {
  line: Type.Integer({ description: 'From 1.' }),
  column: Type.Integer({ description: 'Byte of the line, from 1.' }),
  length: Type.Integer({ description: 'Bytes.' }),
}

const Checked = Type.Object({
  valid: Type.Boolean(),
  error: Type.Union([Type.Object({ reason: Type.String(), message: Type.String(), ...Place }), Type.Null()]),
  hints: Type.Array(Type.String(), { description: 'What the expression probably does not mean.' }),
})

const Named = Type.Object({
  name: Type.String(),
  type: Type.String(),
  kind: Type.Enum(['field', 'function']),
  description: Type.String(),
})

const rows = area({ scopes: ACCOUNT_ONLY, access: ACCESS.rulesets }, () => ({}))

/** Help for writing expressions: the language as data, and a check that stores nothing. */
export const expressions = rows.endpoints([
  rows.get('/edged/expressions/names', {
    summary: 'List the fields and functions of the rules language',
    result: Type.Array(Named),
    handle: () => NAMES,
  }),
  rows.post('/edged/expressions/check', {
    permissions: ACCESS.rulesets.read,
    summary: 'Check a filter expression, and return the place of its error',
    body: Type.Object(
      {
        expression: Type.String({ maxLength: 4 * MAX_LENGTH }),
        phase: Type.Optional(Type.Enum(PHASES.map(({ name }) => name))),
      },
      strict,
    ),
    result: Checked,
    handle(_, { body: { expression, phase } }) {
      const { error, lints } = check(expression, phase === undefined ? {} : { phase })
      return {
        valid: error === undefined,
        error: error
          ? {
              reason: error.reason,
              message: error.message,
              line: error.line,
              column: error.column,
              length: error.length,
            }
          : null,
        hints: lints.map(({ message }) => message),
      }
    },
  }),
])

const NAMES = [
  ...FIELDS.filter(({ group }) => group !== 'ratelimit_only').map(({ name, type, description }) => ({
    name,
    type: type.name,
    kind: 'field' as const,
    description,
  })),
  ...FUNCTIONS.map(({ name }) => ({ name, type: '', kind: 'function' as const, description: '' })),
]
