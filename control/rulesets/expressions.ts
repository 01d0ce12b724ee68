import { Type } from 'typebox'
import { strict } from '../../src/core/schema.js'
import { InvalidInput } from '../../src/core/errors.js'
import { LIST_NAMES } from '../../src/core/model/list.js'
import { nearest } from '../../src/core/nearest.js'
import { account } from '../../src/core/scope.js'
import { allErrors, treeOf, type CheckList } from '../../src/expr/editing/index.js'
import { check, ExprError, FIELDS, FUNCTIONS, MAX_LENGTH, parse, SCHEME } from '../../src/expr/index.js'
import { missingList } from '../../src/rules/rulesets/expression.js'
import { PHASES } from '../../src/rules/phases.js'
import { configIndex } from '../http/auth/config-index.js'
import type { ControlDeps } from '../http/context.js'
import { ACCESS } from '../http/permissions.js'
import { listNamed } from '../lists/list-by-name.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY } from '../http/endpoint.js'

const Place = {
  line: Type.Integer({ description: 'From 1.' }),
  column: Type.Integer({ description: 'Byte of the line, from 1.' }),
  length: Type.Integer({ description: 'Bytes.' }),
}

const Fault = { reason: Type.String(), message: Type.String(), ...Place }

const Checked = Type.Object({
  valid: Type.Boolean(),
  error: Type.Union([Type.Object(Fault), Type.Null()], {
    description: 'The first error. Null if the expression can be used.',
  }),
  errors: Type.Array(
    Type.Object({
      ...Fault,
      fix: Type.Union([Type.Object({ text: Type.String() }), Type.Null()], {
        description: 'A text that mends the error in place of the part at line and column. Null if none is known.',
      }),
    }),
    { description: 'All errors in their order, lists that do not exist among them. At most 10.' },
  ),
  hints: Type.Array(Type.String(), { description: 'What the expression probably does not mean.' }),
})

const Input = Type.Object(
  {
    expression: Type.String({ maxLength: 4 * MAX_LENGTH }),
    phase: Type.Optional(Type.Enum(PHASES.map(({ name }) => name))),
  },
  strict,
)

const Named = Type.Object({
  name: Type.String(),
  type: Type.String(),
  kind: Type.Enum(['field', 'function']),
  description: Type.String(),
})

const rows = area<Pick<ControlDeps, 'config' | 'store'>>({ scopes: ACCOUNT_ONLY, access: ACCESS.rulesets })

/** Help for writing expressions: the language as data, and checks that store nothing. */
export const expressions = rows.endpoints([
  rows.get('/edged/expressions/names', {
    summary: 'List the fields and functions of the rules language',
    result: Type.Array(Named),
    handle: () => NAMES,
  }),
  rows.post('/edged/expressions/check', {
    permissions: ACCESS.rulesets.read,
    summary: 'Check a filter expression, and return its errors with their places and what mends them',
    body: Input,
    result: Checked,
    handle(deps, { accountId, body: { expression, phase } }) {
      const place = phase === undefined ? {} : { phase }
      const { error, lints } = check(expression, place)
      const list = unknownLists(deps, accountId)
      const found =
        error?.class === 'ExpressionTooLong'
          ? [{ error, fix: undefined }]
          : allErrors(expression, { scheme: SCHEME, place, list })
      const first = error ?? found[0]?.error
      return {
        valid: first === undefined,
        error: first ? faultOf(first) : null,
        errors: found.map(({ error: one, fix }) => ({ ...faultOf(one), fix: fix ?? null })),
        hints: lints.map(({ message }) => message),
      }
    },
  }),
  rows.post('/edged/expressions/parse', {
    permissions: ACCESS.rulesets.read,
    summary: 'Read a filter expression as a tree, for a form that shows its conditions',
    body: Input,
    result: Type.Object({
      tree: Type.Unknown({
        description:
          'A node has `type`, and `text`, `start` and `length` of its part of the expression, in bytes. `and`, `or` and `xor` ' +
          'have `items`, `not` has `item`. A `comparison` has `field`, `key` (of a map, or null), `quantifier` (any, all or ' +
          'null), `transform` (lower, upper, len, url_decode or null), `operator` and `value`. What does not fit into ' +
          'a form is a node `text`.',
      }),
    }),
    handle(_, { body: { expression, phase } }) {
      try {
        return { tree: treeOf(parse(expression, phase === undefined ? {} : { phase })) }
      } catch (error) {
        if (!(error instanceof ExprError)) throw error
        throw new InvalidInput([{ pointer: '/expression', message: error.message }])
      }
    },
  }),
])

const faultOf = ({ reason, message, line, column, length }: ExprError) => ({ reason, message, line, column, length })

/** Returns the check of names of lists, with the most similar list of the account. */
function unknownLists(deps: Pick<ControlDeps, 'config' | 'store'>, accountId: string): CheckList {
  const named = listNamed(deps, accountId)
  const names = (): string[] => [
    ...configIndex(deps.config()).lists.keys(),
    ...deps.store.list(LIST_NAMES, account(accountId)).map(({ id }) => id),
  ]
  return ({ name }) =>
    named(name) === undefined ? { reason: missingList(name), meant: nearest(name, names()) } : undefined
}

const NAMES = [
  ...FIELDS.filter(({ group }) => group !== 'ratelimit_only').map(({ name, type, description }) => ({
    name,
    type: type.name,
    kind: 'field' as const,
    description,
  })),
  ...FUNCTIONS.map(({ name }) => ({ name, type: '', kind: 'function' as const, description: '' })),
]
