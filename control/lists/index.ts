import { Type, type Static } from 'typebox'
import { assertNoIssues, type Issue } from '../../src/core/errors.js'
import { endpoint, type Endpoint } from '../http/endpoint.js'
import { ListRepository } from './list-repository.js'
import { items } from './items.js'
import { ACCESS } from '../http/permissions.js'
import { ListChange, ListResult, NewList } from './schemas.js'
import { whole } from '../http/paging.js'
import type { ControlDeps } from '../http/context.js'

const scopes = ['account'] as const
const PATH = '/rules/lists'

/** Named lists of an account for expressions and redirects, and their items. */
export function lists(deps: ControlDeps): Endpoint[] {
  const context = contextOf(deps)
  const { repository } = context
  return [
    listLists(context),
    createList(context),
    readList(context),
    replaceList(context),
    removeList(context),
    ...items(repository),
  ]
}

type Context = ReturnType<typeof contextOf>

/** Returns the dependencies that these endpoints share. */
function contextOf(deps: ControlDeps) {
  const repository = new ListRepository(deps)
  return { repository }
}

function listLists({ repository }: Context): Endpoint {
  return endpoint({
    method: 'get',
    path: PATH,
    scopes,
    permissions: ACCESS.lists.read,
    summary: 'List the lists of an account, those of the configuration first',
    result: Type.Array(ListResult),
    handle: ({ scope }) => whole(repository.all(scope)),
  })
}

function createList({ repository }: Context): Endpoint {
  return endpoint({
    method: 'post',
    path: PATH,
    scopes,
    permissions: ACCESS.lists.write,
    summary: 'Create an empty list',
    body: NewList,
    result: ListResult,
    refusal: 'badList',
    further: ({ body }) => nameIssues(body),
    async handle(call) {
      assertNoIssues(nameIssues(call.body))
      return await repository.create(call, call.body)
    },
  })
}

function readList({ repository }: Context): Endpoint {
  return endpoint({
    method: 'get',
    path: `${PATH}/:list_id`,
    scopes,
    permissions: ACCESS.lists.read,
    summary: 'Read a list',
    result: ListResult,
    handle: ({ scope, params }) => repository.get(scope, params.list_id),
  })
}

function replaceList({ repository }: Context): Endpoint {
  return endpoint({
    method: 'put',
    path: `${PATH}/:list_id`,
    scopes,
    permissions: ACCESS.lists.write,
    summary: 'Change the description of a list',
    body: ListChange,
    result: ListResult,
    refusal: 'badList',
    handle: async (call) => await repository.describe(call, call.params.list_id, call.body.description),
  })
}

function removeList({ repository }: Context): Endpoint {
  return endpoint({
    method: 'delete',
    path: `${PATH}/:list_id`,
    scopes,
    permissions: ACCESS.lists.write,
    summary: 'Delete a list with all of its items; refused while rules use it',
    result: Type.Object({ id: Type.String() }),
    async handle(call) {
      const id = call.params.list_id
      await repository.remove(call, id)
      return { id }
    },
  })
}

/** Expressions name lists in lower case; redirect lists are named by parameters. */
const nameIssues = ({ name = '', kind }: Partial<Static<typeof NewList>>): Issue[] =>
  kind !== 'redirect' && /[A-Z]/.test(name)
    ? [{ pointer: '/name', message: 'must be in lower case, as expressions name it' }]
    : []
