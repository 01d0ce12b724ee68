import { LIST_NAMES, type ListNamed } from '../../src/core/model/list.js'
import { account } from '../../src/core/scope.js'
import { configIndex } from '../http/auth/config-index.js'
import type { ControlDeps } from '../http/context.js'

/** Returns the lists that expressions of an account and its zones can name: configured ones first, then its own. */
export function listNamed({ config, store }: Pick<ControlDeps, 'config' | 'store'>, accountId: string): ListNamed {
  const { lists } = configIndex(config())
  const scope = account(accountId)
  return (name) => lists.get(name)?.kind ?? store.get(LIST_NAMES, scope, name)?.value.kind
}
