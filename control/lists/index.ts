import { Type, type Static } from 'typebox'
import { assertNoIssues, type Issue } from '../../src/core/errors.js'
import { area } from '../http/area.js'
import { ListRepository } from './list-repository.js'
import { items } from './items.js'
import { ListUser, listUsers } from './list-users.js'
import { ACCESS } from '../http/permissions.js'
import { ListChange, ListResult, NewList } from './schemas.js'
import { whole } from '../http/paging.js'
import type { ControlDeps } from '../http/context.js'

const PATH = '/rules/lists'

const rows = area({ scopes: ['account'], access: ACCESS.lists, refusal: 'badList' }, (deps: ControlDeps) => {
  const repository = new ListRepository(deps)
  return { repository, deps }
})

/** Named lists of an account for expressions and redirects, and their items. */
export const lists = rows.endpoints([
  rows.get(PATH, {
    summary: 'List the lists of an account, those of the configuration first',
    result: Type.Array(ListResult),
    handle: ({ repository }, { scope }) => whole(repository.all(scope)),
  }),
  rows.post(PATH, {
    summary: 'Create an empty list',
    body: NewList,
    result: ListResult,
    further: (_, { body }) => nameIssues(body),
    async handle({ repository }, call) {
      assertNoIssues(nameIssues(call.body))
      return await repository.create(call, call.body)
    },
  }),
  rows.get(`${PATH}/:list_id`, {
    summary: 'Read a list',
    result: ListResult,
    handle: ({ repository }, { scope, params }) => repository.get(scope, params.list_id),
  }),
  rows.get(`${PATH}/:list_id/edged/rules`, {
    summary: 'List the rules of the account and its zones that use a list',
    result: Type.Array(ListUser),
    handle: ({ repository, deps }, call) => whole(listUsers(deps, repository, call, call.params.list_id)),
  }),
  rows.put(`${PATH}/:list_id`, {
    summary: 'Change the description of a list',
    body: ListChange,
    result: ListResult,
    handle: async ({ repository }, call) => await repository.describe(call, call.params.list_id, call.body.description),
  }),
  rows.delete(`${PATH}/:list_id`, {
    summary: 'Delete a list with all of its items; refused while rules use it',
    result: Type.Object({ id: Type.String() }),
    async handle({ repository }, call) {
      const id = call.params.list_id
      await repository.remove(call, id)
      return { id }
    },
  }),
  ({ repository }) => items(repository),
])

/** Expressions name lists in lower case; redirect lists are named by parameters. */
const nameIssues = ({ name = '', kind }: Partial<Static<typeof NewList>>): Issue[] =>
  kind !== 'redirect' && /[A-Z]/.test(name)
    ? [{ pointer: '/name', message: 'must be in lower case, as expressions name it' }]
    : []
