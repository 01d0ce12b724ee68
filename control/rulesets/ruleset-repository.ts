import { EventLoopYield } from '../../src/core/schedule/event-loop-yield.js'
import { newId } from '../../src/core/ids.js'
import {
  ENTRY_POINTS,
  OLDER_RULESETS,
  olderVersionId,
  RULESET_USES,
  RULESETS,
  type Ruleset,
  type StoredRuleset,
} from '../../src/core/model/ruleset.js'
import { ERROR_ASSETS } from '../../src/core/model/error-page.js'
import { account, type Scope } from '../../src/core/scope.js'
import type { AuditEntry, Stored, Write } from '../../src/core/store.js'
import { ENTRY_KIND, type Level } from '../../src/rules/phases.js'
import { timestamp, type Making } from '../../src/rules/rulesets/edit.js'
import { forgetExpressions } from '../../src/rules/parsed.js'
import { ruleHints, rulesHints, type Hint } from '../../src/rules/rulesets/hints.js'
import { entryOf, type Actor } from '../resources/audit.js'
import { checkConditions } from '../http/conditions.js'
import { ApiResponse, type Call } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import type { ControlDeps, FileRules } from '../http/context.js'
import { KeyedEdits } from '../resources/keyed-edits.js'
import { listNamed } from '../lists/list-by-name.js'
import { useWrites } from './list-references.js'
import { digests, serialized, withOlder, type Serialized } from './serialized.js'

/** The author, scope and conditions of a write. */
export type Writer = Actor & { readonly request: Pick<Call['request'], 'headers'> }

/** A decided write: its records and its response. */
export interface Decided {
  readonly result: Ruleset | null
  readonly writes: readonly Write[]
  readonly audit: readonly AuditEntry[]
  /** Hints about the result, below its rules. */
  readonly hints?: readonly Hint[]
}

/** The response of a write. */
export type Written = ApiResponse<Ruleset | null>

/** The stored rulesets: reads by id, phase and version, and writes that change all records of a ruleset together. */
export class RulesetRepository {
  readonly #deps: ControlDeps
  readonly #turns = new KeyedEdits('rulesetsBusy')
  readonly #slices = new EventLoopYield()

  constructor(deps: ControlDeps) {
    this.#deps = deps
  }

  /** Called between the steps of long work on rules, so that other requests are served. */
  readonly pause = (): Promise<void> => this.#slices.yieldToEventLoop()

  /** Returns a ruleset. Throws `rulesetNotFound`. */
  get(scope: Scope, id: string): Stored<StoredRuleset> {
    const found = this.#file?.get(scope, id) ?? this.#deps.store.get(RULESETS, scope, id)
    if (!found) throw new ApiError('rulesetNotFound', undefined, `could not find the ruleset ${id}`)
    return found
  }

  /** Returns the rulesets in force, in the order of their ids. */
  list(scope: Scope): readonly Stored<StoredRuleset>[] {
    const stored = this.#deps.store.list(RULESETS, scope)
    const ofFile = this.#file?.of(scope) ?? []
    if (ofFile.length === 0) return stored
    return [...stored.filter(({ value }) => !this.#owner(scope, value.ruleset)), ...ofFile].toSorted((a, b) =>
      a.id < b.id ? -1 : 1,
    )
  }

  /** Returns a ruleset as the API shows it. Rules of the configuration file have their place in it. */
  shown(scope: Scope, ruleset: Ruleset): ApiResponse<Ruleset> {
    const places = this.#file?.get(scope, ruleset.id) && this.#file.places(scope, ruleset.phase)
    if (!places) return withEtag(ruleset)
    const source = (line: number | undefined) => ({ edged_source: { file: places.file, line: line ?? 1 } })
    const [first, ...lines] = places.lines
    const rules = ruleset.rules.map((rule, index) => ({ ...rule, ...source(lines[index]) }))
    return new ApiResponse({ ...ruleset, ...source(first), rules }, withEtag(ruleset).options)
  }

  /** Throws `rulesOfFile` if the phase of an entry point belongs to the configuration file. */
  assertNotOfFile(scope: Scope, ruleset: Pick<Ruleset, 'kind' | 'phase'>): void {
    if (!this.#owner(scope, ruleset)) return
    const { file, lines } = this.#file?.places(scope, ruleset.phase) ?? {}
    const where = file === undefined ? 'the configuration' : `${file}:${lines?.[0] ?? 1}`
    throw new ApiError(
      'rulesOfFile',
      undefined,
      `the rules of ${ruleset.phase} are in ${where}; change them there and run edged reload`,
    )
  }

  /** Returns the entry point of the file whose phase this ruleset has. */
  #owner(scope: Scope, { kind, phase }: Pick<Ruleset, 'kind' | 'phase'>): Stored<StoredRuleset> | undefined {
    return kind === ENTRY_KIND[levelOf(scope)] ? this.#file?.entryPoint(scope, phase) : undefined
  }

  get #file(): FileRules | undefined {
    return this.#deps.fileRules?.()
  }

  entryPoint(scope: Scope, phase: string): Stored<StoredRuleset> | undefined {
    const ofFile = this.#file?.entryPoint(scope, phase)
    if (ofFile) return ofFile
    const entry = this.#deps.store.get(ENTRY_POINTS, scope, phase)
    return entry && this.#deps.store.get(RULESETS, scope, entry.value.ruleset_id)
  }

  /** Returns a version. Throws `versionNotFound`. */
  version({ scope, value: { ruleset } }: Stored<StoredRuleset>, version: string): Ruleset {
    if (version === ruleset.version) return ruleset
    const found = this.#deps.store.get(OLDER_RULESETS, scope, olderVersionId(ruleset.id, version))
    if (!found) throw new ApiError('versionNotFound', undefined, `could not find version ${version} of the ruleset`)
    return found.value
  }

  /** Returns a ruleset that rules of `scope` can run: one of its own, or one of its account. */
  target(scope: Scope, accountId: string, id: string): Stored<StoredRuleset> | undefined {
    const { store } = this.#deps
    return store.get(RULESETS, scope, id) ?? store.get(RULESETS, account(accountId), id)
  }

  /** Returns hints about the rules of a ruleset. */
  async hints(scope: Scope, { rules, phase }: Ruleset): Promise<Hint[]> {
    return await rulesHints(rules, phase, this.pause, this.#isPage(scope))
  }

  /** Returns hints about one rule of a ruleset; pointers are relative to it. */
  ruleHints(scope: Scope, { rules, phase }: Ruleset, ruleId: string | undefined): Hint[] {
    const index = rules.findIndex(({ id }) => id === ruleId)
    return ruleHints(rules, index, phase, this.#isPage(scope))
  }

  #isPage(scope: Scope): (name: string) => boolean {
    return (name) => this.#deps.store.get(ERROR_ASSETS, scope, name) !== undefined
  }

  making(): Making {
    return { now: timestamp(this.#deps.clock.now()), newId }
  }

  /**
   * Runs `decide` on the current state and stores its result; a dry run stores nothing and returns null. Writes of one
   * account are serialized. If another machine changed the state, it is read again.
   */
  async write(actor: Actor, dryRun: boolean | undefined, decide: () => Decided | Promise<Decided>): Promise<Written> {
    try {
      if (dryRun) return written(null, await decide())
      return await this.#turns.run(actor.accountId, async () => {
        const decided = await decide()
        await this.pause()
        if (decided.writes.length > 0) await this.#deps.store.batch(decided.writes, decided.audit)
        await this.pause()
        return written(decided.result, decided)
      })
    } finally {
      forgetExpressions()
    }
  }

  /** Creates a ruleset. Throws `tooManyRulesets`. */
  async created(actor: Writer, ruleset: Ruleset): Promise<Decided> {
    const { scope } = actor
    this.assertNotOfFile(scope, ruleset)
    assertCurrent(actor, undefined)
    const max = this.#deps.config().control.quotas.rulesets_per_scope
    if (this.#deps.store.count(RULESETS, scope) >= max)
      throw new ApiError(
        'tooManyRulesets',
        undefined,
        `the maximum of ${max} rulesets is reached (control.quotas.rulesets_per_scope)`,
      )
    const { id, kind, phase } = ruleset
    const after = await serialized(ruleset, this.pause)
    const writes: Write[] = [{ kind: RULESETS, scope, id, ...withOlder(after, []), ifVersion: 0 }]
    if (kind === ENTRY_KIND[levelOf(scope)])
      writes.push({ kind: ENTRY_POINTS, scope, id: phase, value: { ruleset_id: id }, ifVersion: 0 })
    else writes.push({ kind: RULESET_USES, scope, id, value: { rules: 0 }, ifVersion: 0 })
    writes.push(...useWrites(this.#deps.store, actor, undefined, ruleset, listNamed(this.#deps, actor.accountId)))
    return { result: ruleset, writes, audit: [await this.#entry(actor, id, undefined, after)] }
  }

  /** Replaces a ruleset with its next version; the previous one becomes an older version. */
  async changed(actor: Writer, stored: Stored<StoredRuleset>, ruleset: Ruleset): Promise<Decided> {
    const { scope, id, version: ifVersion, value } = stored
    const before = value.ruleset
    this.assertNotOfFile(scope, before)
    assertCurrent(actor, before)
    const { version, last_updated, description } = before
    const kept = this.#deps.config().control.quotas.ruleset_versions
    const all = [...value.older, { version, last_updated, description }]
    const dropped = all.splice(0, Math.max(0, all.length - kept))
    const old = await serialized(before, this.pause)
    const after = await serialized(ruleset, this.pause)
    const writes: Write[] = [{ kind: RULESETS, scope, id, ...withOlder(after, all), ifVersion }]
    if (kept > 0) writes.push({ kind: OLDER_RULESETS, scope, id: olderVersionId(id, version), ...old })
    for (const each of dropped)
      if (each.version !== version) writes.push(removal(scope, olderVersionId(id, each.version)))
    writes.push(...useWrites(this.#deps.store, actor, before, ruleset, listNamed(this.#deps, actor.accountId)))
    return { result: ruleset, writes, audit: [await this.#entry(actor, id, old, after)] }
  }

  /** Deletes a ruleset with all of its versions. Throws `rulesetInUse` while execute rules run it. */
  async removed(actor: Writer, { scope, id, version: ifVersion, value }: Stored<StoredRuleset>): Promise<Decided> {
    const { ruleset, older } = value
    this.assertNotOfFile(scope, ruleset)
    assertCurrent(actor, ruleset)
    const uses = this.#deps.store.get(RULESET_USES, scope, id)
    if (uses && uses.value.rules > 0)
      throw new ApiError('rulesetInUse', undefined, `the ruleset is run by ${uses.value.rules} execute rules`)
    const writes: Write[] = [{ kind: RULESETS, scope, id, value: undefined, ifVersion }]
    if (uses) writes.push({ kind: RULESET_USES, scope, id, value: undefined, ifVersion: uses.version })
    if (ruleset.kind === ENTRY_KIND[levelOf(scope)])
      writes.push({ kind: ENTRY_POINTS, scope, id: ruleset.phase, value: undefined })
    for (const { version } of older) writes.push(removal(scope, olderVersionId(id, version)))
    writes.push(...useWrites(this.#deps.store, actor, ruleset, undefined))
    const before = await serialized(ruleset, this.pause)
    return { result: null, writes, audit: [await this.#entry(actor, id, before, undefined)] }
  }

  /** Deletes one older version. Throws `versionNotFound` and `latestVersion`. */
  async versionRemoved(actor: Writer, stored: Stored<StoredRuleset>, version: string): Promise<Decided> {
    const { scope, id, version: ifVersion, value } = stored
    this.assertNotOfFile(scope, value.ruleset)
    const before = this.version(stored, version)
    assertCurrent(actor, value.ruleset)
    if (before === value.ruleset) throw new ApiError('latestVersion')
    const older = value.older.filter((kept) => kept.version !== version)
    const current = await serialized(value.ruleset, this.pause)
    const removed = await serialized(before, this.pause)
    return {
      result: null,
      writes: [
        { kind: RULESETS, scope, id, ...withOlder(current, older), ifVersion },
        removal(scope, olderVersionId(id, version)),
      ],
      audit: [await this.#entry(actor, olderVersionId(id, version), removed, undefined)],
    }
  }

  async #entry(
    actor: Actor,
    id: string,
    before: Serialized<Ruleset> | undefined,
    after: Serialized<Ruleset> | undefined,
  ): Promise<AuditEntry> {
    await this.pause()
    const change = { kind: RULESETS, scope: actor.scope, id, before: before?.value, after: after?.value }
    return entryOf(this.#deps.clock, actor, change, await digests(before, after, this.pause))
  }
}

/** Returns the ETag of a ruleset: another one after each change, and after it was deleted and created again. */
const etagOf = ({ id, version }: Ruleset): string => `${id}-${version}`

/** Throws `rulesetChanged` if the request is for another state than the current one. */
export const assertCurrent = ({ request }: Pick<Writer, 'request'>, current: Ruleset | undefined): void =>
  checkConditions(request, current && etagOf(current), 'rulesetChanged')

/** Returns the response with a ruleset and its ETag. */
const withEtag = (ruleset: Ruleset): ApiResponse<Ruleset> =>
  new ApiResponse(ruleset, { headers: { etag: `"${etagOf(ruleset)}"` } })

const written = (result: Ruleset | null, { hints = [] }: Decided): Written =>
  new ApiResponse(result, {
    ...(result && withEtag(result).options),
    messages: hints.map(({ code, pointer, message }) => ({ code, message, source: { pointer } })),
  })

export const levelOf = ({ type }: Scope): Level => (type === 'account' ? 'account' : 'zone')

const removal = (scope: Scope, id: string): Write => ({ kind: OLDER_RULESETS, scope, id, value: undefined })
