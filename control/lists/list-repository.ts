import { newId } from '../../src/core/ids.js'
import {
  bucketId,
  BUCKETS,
  LIST_ITEMS,
  LIST_NAMES,
  LISTS,
  type ListItem,
  type ListKind,
  type StoredList,
} from '../../src/core/model/list.js'
import { RULESETS, type StoredRuleset } from '../../src/core/model/ruleset.js'
import { account, zone, type Scope } from '../../src/core/scope.js'
import type { Stored, Write } from '../../src/core/store.js'
import { listsOf } from '../../src/rules/rulesets/referenced-lists.js'
import { audit, audited, type Actor } from '../resources/audit.js'
import { configIndex, sha256 } from '../http/auth/config-index.js'
import { ApiError } from '../http/errors.js'
import { UNKNOWN_TIME, type ControlDeps } from '../http/context.js'
import { sourceOf, type EdgedSource } from '../resources/file-source.js'
import { KeyedEdits } from '../resources/keyed-edits.js'
import { configuredItems } from './config-items.js'

/** A list as the API returns it. */
export interface ListResponse extends StoredList {
  readonly num_referencing_filters: number
  readonly edged_source: EdgedSource
}

/**
 * The lists of an account. These are its own lists, and the lists of the configuration, which cannot be changed through
 * the API.
 */
export class ListRepository {
  readonly deps: ControlDeps
  readonly turns = new KeyedEdits('listsBusy')

  constructor(deps: ControlDeps) {
    this.deps = deps
  }

  /** Returns the lists of the configuration first, then the account's, in the order of their names. */
  all({ id }: Scope): ListResponse[] {
    const own = this.deps.store.list(LISTS, account(id)).map((stored) => this.toResponse(stored))
    const given = [...configIndex(this.deps.config()).lists.keys()].map((name) => this.#given(id, name))
    const byName = (a: ListResponse, b: ListResponse) => (a.name < b.name ? -1 : 1)
    return [...given.sort(byName), ...own.sort(byName)]
  }

  /** Returns a list. Throws `listNotFound`. */
  get(scope: Scope, id: string): ListResponse {
    const own = this.deps.store.get(LISTS, scope, id)
    if (own) return this.toResponse(own)
    const name = this.#givenName(id)
    if (name === undefined) throw notFound(id)
    return this.#given(scope.id, name)
  }

  /** Returns a list that can be changed. Throws `listNotFound` and `listReadOnly`. */
  own(scope: Scope, id: string): Stored<StoredList> {
    const own = this.deps.store.get(LISTS, scope, id)
    if (own) return own
    throw this.#givenName(id) === undefined ? notFound(id) : new ApiError('listReadOnly')
  }

  /** Returns items in the order of their ids, starting after the item `behind`. Throws `listNotFound`. */
  *items(scope: Scope, id: string, behind = ''): Generator<ListItem> {
    if (!this.deps.store.get(LISTS, scope, id)) {
      const name = this.#givenName(id)
      const list = name === undefined ? undefined : configIndex(this.deps.config()).lists.get(name)
      if (!list) throw notFound(id)
      yield* configuredItems(id, list).filter((item) => item.id > behind)
      return
    }
    for (const bucket of BUCKETS) {
      if (bucket < behind.slice(0, 2)) continue
      const stored = this.deps.store.get(LIST_ITEMS, scope, bucketId(id, bucket))
      for (const item of stored?.value.items ?? []) if (item.id > behind) yield item
    }
  }

  /** Creates an empty list. Throws `listExists` and `tooManyLists`. */
  async create(actor: Actor, { name, kind, description = '' }: NewList): Promise<ListResponse> {
    const { store, clock } = this.deps
    const { scope } = actor
    return await this.turns.run(scope.id, async () => {
      if (configIndex(this.deps.config()).lists.has(name) || store.get(LIST_NAMES, scope, name))
        throw new ApiError('listExists', '/name', `there is a list ${name} already`)
      const max = this.deps.config().control.quotas.lists_per_account
      if (store.count(LISTS, scope) >= max)
        throw new ApiError(
          'tooManyLists',
          undefined,
          `the maximum of ${max} lists is reached (control.quotas.lists_per_account)`,
        )
      const id = newId()
      const now = this.now()
      const list: StoredList = { id, name, kind, description, num_items: 0, created_on: now, modified_on: now }
      // Rules can name it already if it was in the configuration before.
      const rules = this.users(scope.id, name).length
      await store.batch(
        ...audited(clock, actor, { kind: LISTS, scope, id, after: list }, [
          { kind: LIST_NAMES, scope, id: name, value: { list_id: id, kind, rules }, ifVersion: 0 },
        ]),
      )
      return { ...list, num_referencing_filters: rules, edged_source: null }
    })
  }

  async describe(actor: Actor, id: string, description: string | undefined): Promise<ListResponse> {
    const { store, clock } = this.deps
    const { scope } = actor
    return await this.turns.run(scope.id, async () => {
      const { value: before, version } = this.own(scope, id)
      const after = { ...before, description: description ?? before.description, modified_on: this.now() }
      await store.batch(...audited(clock, actor, { kind: LISTS, scope, id, before, after, ifVersion: version }))
      return this.get(scope, id)
    })
  }

  /** Deletes a list with all of its items. Throws `listInUse` while rules use it. */
  async remove(actor: Actor, id: string): Promise<void> {
    const { store, clock } = this.deps
    const { scope } = actor
    await this.turns.run(scope.id, async () => {
      const { value: before, version } = this.own(scope, id)
      const named = store.get(LIST_NAMES, scope, before.name)
      if ((named && named.value.rules > 0) || this.#fileUsers(scope.id, before.name).length > 0)
        throw new ApiError('listInUse', undefined, inUse(before.name, this.users(scope.id, before.name)))
      const writes: Write[] = [{ kind: LISTS, scope, id, value: undefined, ifVersion: version }]
      if (named) writes.push({ kind: LIST_NAMES, scope, id: before.name, value: undefined, ifVersion: named.version })
      for (const bucket of BUCKETS)
        if (store.get(LIST_ITEMS, scope, bucketId(id, bucket)))
          writes.push({ kind: LIST_ITEMS, scope, id: bucketId(id, bucket), value: undefined })
      await store.batch(writes, [audit(clock, actor, { kind: LISTS, scope, id, before })])
    })
  }

  now(): string {
    return new Date(this.deps.clock.now()).toISOString()
  }

  toResponse({ scope, value }: Stored<StoredList>): ListResponse {
    const rules = this.deps.store.get(LIST_NAMES, scope, value.name)?.value.rules ?? 0
    return { ...value, num_referencing_filters: rules, edged_source: null }
  }

  /** Returns the rules of an account and its zones that use a list. */
  users(accountId: string, name: string): User[] {
    const stored = this.#usersIn(accountId, name, (scope) => this.deps.store.list(RULESETS, scope))
    return [...stored, ...this.#fileUsers(accountId, name)]
  }

  /** Returns the rules of the configuration file that use a list. */
  #fileUsers(accountId: string, name: string): User[] {
    const file = this.deps.fileRules?.()
    return file ? this.#usersIn(accountId, name, (scope) => file.of(scope)) : []
  }

  #usersIn(accountId: string, name: string, rulesets: (scope: Scope) => readonly Stored<StoredRuleset>[]): User[] {
    const zones = this.deps.config().zones.filter((zone) => zone.account === accountId)
    return [account(accountId), ...zones.map(({ id }) => zone(id))].flatMap((scope) =>
      rulesets(scope).flatMap(({ id, value }) =>
        value.ruleset.rules
          .filter((rule) => listsOf(rule).has(name))
          .map(({ id: rule, description }) => ({ scope, ruleset: id, home: value.ruleset, rule, name: description })),
      ),
    )
  }

  #givenName(id: string): string | undefined {
    return [...configIndex(this.deps.config()).lists.keys()].find((name) => givenId(name) === id)
  }

  #given(accountId: string, name: string): ListResponse {
    const list = configIndex(this.deps.config()).lists.get(name)
    return {
      id: givenId(name),
      name,
      kind: list?.kind ?? 'ip',
      description: '',
      num_items: list?.items.length ?? 0,
      num_referencing_filters: this.users(accountId, name).length,
      created_on: UNKNOWN_TIME,
      modified_on: UNKNOWN_TIME,
      edged_source: sourceOf(this.deps.config(), `list/${name}`),
    }
  }
}

interface NewList {
  readonly name: string
  readonly kind: ListKind
  readonly description?: string
}

/** A rule that uses a list. */
interface User {
  readonly scope: Scope
  readonly ruleset: string
  readonly home: Pick<StoredRuleset['ruleset'], 'kind' | 'phase'>
  readonly rule: string
  readonly name: string
}

const SHOWN = 5

function inUse(name: string, users: readonly User[]): string {
  const shown = users
    .slice(0, SHOWN)
    .map(({ scope, ruleset, rule }) => `rule ${rule} of ruleset ${ruleset} (${scope.type})`)
  const more = users.length > SHOWN ? `, and ${users.length - SHOWN} more` : ''
  return `the list ${name} is used by ${shown.join(', ')}${more}`
}

/** Returns the id of a list of the configuration, derived from its name. */
const givenId = (name: string): string => sha256(`list:${name}`).slice(0, 32)

const notFound = (id: string): ApiError => new ApiError('listNotFound', undefined, `could not find the list ${id}`)
