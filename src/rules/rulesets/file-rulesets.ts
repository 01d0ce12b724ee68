import { createHash } from 'node:crypto'
import { ENTRY_POINTS, RULESETS, type Rule, type Ruleset, type StoredRuleset } from '../../core/model/ruleset.js'
import { account, zone, type Scope } from '../../core/scope.js'
import type { Kind, Stored, StoreReader } from '../../core/store.js'
import { ENTRY_KIND, type Level } from '../phases.js'
import { createRuleset } from './edit.js'
import type { RuleInput } from './rule-input.js'

/** Accounts and zones of a configuration file with their checked rules. */
export interface RulesOfConfig {
  readonly accounts: readonly Owner[]
  readonly zones: readonly Owner[]
}

interface Owner {
  readonly id: string
  readonly rules: Readonly<Record<string, readonly unknown[]>>
}

/** The records of one account or zone by the name of the phase. */
type Records = ReadonlyMap<string, Stored<StoredRuleset>>

const NONE: Records = new Map()
/** The file does not say when a rule was written. */
const UNKNOWN_TIME = '1970-01-01T00:00:00.000000Z'

/** Records of unchanged owners are created once. */
const known = new WeakMap<Owner['rules'], { scope: Scope; records: Records }>()

/** The entry points of a configuration file, as records. Each has the same ids in every process and after every reload. */
export class FileRulesets {
  readonly #byScope = new Map<string, Records>()
  readonly #byId = new Map<string, Stored<StoredRuleset>>()

  constructor({ accounts, zones }: RulesOfConfig) {
    for (const owner of accounts) this.#add(account(owner.id), owner)
    for (const owner of zones) this.#add(zone(owner.id), owner)
  }

  get all(): readonly Stored<StoredRuleset>[] {
    return [...this.#byId.values()]
  }

  /** Returns the entry point of a phase. Undefined if the file does not name the phase. */
  entryPoint(scope: Scope, phase: string): Stored<StoredRuleset> | undefined {
    return this.#of(scope).get(phase)
  }

  /** Returns the entry points of an account or zone. */
  of(scope: Scope): readonly Stored<StoredRuleset>[] {
    return [...this.#of(scope).values()]
  }

  get(scope: Scope, id: string): Stored<StoredRuleset> | undefined {
    const found = this.#byId.get(id)
    return found?.scope.id === scope.id && found.scope.type === scope.type ? found : undefined
  }

  #of({ type, id }: Scope): Records {
    return this.#byScope.get(`${type}/${id}`) ?? NONE
  }

  #add(scope: Scope, { rules }: Owner): void {
    if (Object.keys(rules).length === 0) return
    const ready = known.get(rules)
    const records =
      ready?.scope.id === scope.id && ready.scope.type === scope.type ? ready.records : recordsOf(scope, rules)
    known.set(rules, { scope, records })
    this.#byScope.set(`${scope.type}/${scope.id}`, records)
    for (const record of records.values()) this.#byId.set(record.id, record)
  }
}

function recordsOf(scope: Scope, rules: Owner['rules']): Records {
  const level: Level = scope.type === 'account' ? 'account' : 'zone'
  return new Map(
    Object.entries(rules).map(([phase, inputs]) => {
      const ruleset = rulesetOf(scope.id, level, phase, inputs as readonly RuleInput[])
      return [phase, { kind: RULESETS.name, scope, id: ruleset.id, version: 0, value: { ruleset, older: [] } }]
    }),
  )
}

function rulesetOf(owner: string, level: Level, phase: string, inputs: readonly RuleInput[]): Ruleset {
  const seen = new Map<string, number>()
  // A rule is recognized by its id or ref, else by its action and expression and the number of rules before it with both.
  const ids = inputs.map(({ id, ref, action, expression }) => {
    if (id !== undefined) return id
    const name = ref === undefined ? `${action} ${expression}` : `ref ${ref}`
    const number = (seen.get(name) ?? 0) + 1
    seen.set(name, number)
    return idOf(owner, phase, name, String(number))
  })
  const queue = [idOf(owner, phase), ...ids]
  const made = createRuleset(
    { name: 'default', kind: ENTRY_KIND[level], phase, rules: inputs },
    { now: UNKNOWN_TIME, newId: () => queue.shift() ?? '' },
  )
  const rules = made.rules.map((rule): Rule => ({ ...rule, version: versionOf(rule) }))
  return { ...made, version: versionOf(rules), rules }
}

/** 32 hexadecimal digits. */
const idOf = (...names: readonly string[]): string => hash(['edged file rules', ...names]).slice(0, 32)

/** A number that changes with the content. */
const versionOf = (content: unknown): string => String(Number.parseInt(hash(content).slice(0, 12), 16))

const hash = (content: unknown): string => createHash('sha256').update(JSON.stringify(content)).digest('hex')

/** Returns the records of a store in which the entry points of a configuration file replace the stored ones. */
export function withFileRulesets(store: StoreReader, file: FileRulesets): StoreReader {
  return {
    get<T>(kind: Kind<T>, scope: Scope, id: string): Stored<T> | undefined {
      if (kind.name === RULESETS.name) {
        const found = file.get(scope, id)
        if (found) return found as Stored<unknown> as Stored<T>
      } else if (kind.name === ENTRY_POINTS.name) {
        const found = file.entryPoint(scope, id)
        if (found)
          return {
            ...found,
            kind: ENTRY_POINTS.name,
            id,
            value: { ruleset_id: found.id },
          } as Stored<unknown> as Stored<T>
      }
      return store.get(kind, scope, id)
    },
    list: (kind, scope) => store.list(kind, scope),
    watch: (listener) => store.watch(listener),
  }
}

const differs = (record: Stored<StoredRuleset>, other: Stored<StoredRuleset> | undefined): boolean =>
  other?.value.ruleset.version !== record.value.ruleset.version

/** Returns the accounts and zones whose rules differ between two configurations. */
export function changedScopes(before: FileRulesets, after: FileRulesets): readonly Scope[] {
  const scopes = new Map<string, Scope>()
  for (const [some, others] of [
    [before, after],
    [after, before],
  ] as const)
    for (const record of some.all)
      if (differs(record, others.get(record.scope, record.id)))
        scopes.set(`${record.scope.type}/${record.scope.id}`, record.scope)
  return [...scopes.values()]
}
