/** Audit entries as `audit_logs_v2` records: one for each change, emitted once the change is durable. */
import { auditFacts } from '../../core/audit/audit-facts.js'
import { account, type Scope } from '../../core/scope.js'
import type { Config } from '../../config/schema.js'
import type { Emitter, LogRecord } from '../../core/emit.js'
import type { AuditEntry, AuditOrder, Change, FoundEntry, Kind, Store, Stored, Write } from '../../core/store.js'

/** Accounts and zones of the current configuration. */
export type Places = () => Pick<Config, 'accounts' | 'zones'>

/** Emits audit entries for the account of each; those above all accounts have none. */
export function auditLog(emitter: Emitter, places: Places): (entry: AuditEntry) => void {
  return (entry) => {
    const { accounts, zones } = places()
    const { scope } = entry.resource
    const zone = scope.type === 'zone' ? zones.find(({ id }) => id === scope.id) : undefined
    const accountId = scope.type === 'account' ? scope.id : zone?.account
    if (accountId === undefined || !emitter.wants('audit_logs_v2', account(accountId))) return
    const accountName = accounts.find(({ id }) => id === accountId)?.name
    emitter.emit('audit_logs_v2', account(accountId), {
      ...recordOf(entry),
      AccountID: accountId,
      AccountName: accountName,
      ZoneID: zone?.id,
      ZoneName: zone?.name,
    })
  }
}

function recordOf(entry: AuditEntry): LogRecord {
  const { at, actor, action, resource, requestId, request, before, after } = entry
  const { id, description, actorType, context, email, tokenId, tokenName, resourceScope } = auditFacts(entry)
  return {
    ActionDescription: description,
    // A rejected request changes nothing, so it has no entry.
    ActionResult: 'success',
    ActionTimestamp: at,
    ActionType: action,
    ActorContext: context ?? 'system',
    ActorEmail: email,
    ActorID: actor.id,
    ActorIPAddress: request?.ip,
    ActorTokenDetails: tokenId === undefined ? undefined : { id: tokenId, name: tokenName },
    ActorType: actorType,
    AuditLogID: id,
    Raw: {
      cf_ray_id: requestId,
      ...(request && { method: request.method, uri: request.path, user_agent: request.userAgent }),
    },
    ResourceID: resource.id,
    ResourceScope: resourceScope,
    ResourceType: resource.kind,
    // Hashes: stored values can be secret.
    ResourceValue: { before_sha256: before, after_sha256: after },
  }
}

/** A store that reports each audit entry once its change is durable. Writes resolve when they are in force. */
export class AuditedStore implements Store {
  readonly #store: Store
  /** Called with every entry; set after the start. */
  tell: (entry: AuditEntry) => void = () => {}
  /** Resolves when the changes so far are in force in all processes; undefined if that is so now. Set after the start. */
  applied: () => Promise<unknown> | undefined = () => undefined

  constructor(store: Store) {
    this.#store = store
  }

  get writable(): boolean {
    return this.#store.writable
  }

  get unavailable(): string | undefined {
    return this.#store.unavailable
  }

  async batch(writes: readonly Write[], audit: readonly AuditEntry[] = []): Promise<number> {
    const version = await this.#store.batch(writes, audit)
    for (const entry of audit) this.tell(entry)
    await this.applied()
    return version
  }

  async change<T>(
    kind: Kind<T>,
    scope: Scope,
    id: string,
    edit: (old: T | undefined, version: number) => T | undefined,
    audit?: (before: T | undefined, after: T | undefined) => AuditEntry,
  ): Promise<Stored<T> | undefined> {
    if (!audit) {
      const changed = await this.#store.change(kind, scope, id, edit)
      await this.applied()
      return changed
    }
    // Of several attempts, the last one counts.
    let entry: AuditEntry | undefined
    const stored = await this.#store.change(
      kind,
      scope,
      id,
      (old, version) => {
        entry = undefined
        return edit(old, version)
      },
      (before, after) => (entry = audit(before, after)),
    )
    if (entry !== undefined) this.tell(entry)
    await this.applied()
    return stored
  }

  get<T>(kind: Kind<T>, scope: Scope, id: string): Stored<T> | undefined {
    return this.#store.get(kind, scope, id)
  }

  list<T>(kind: Kind<T>, scope?: Scope): readonly Stored<T>[] {
    return this.#store.list(kind, scope)
  }

  count<T>(kind: Kind<T>, scope?: Scope): number {
    return this.#store.count(kind, scope)
  }

  records(): Iterable<Stored<unknown>> {
    return this.#store.records()
  }

  watch(listener: (changes: readonly Change[]) => void): () => void {
    return this.#store.watch(listener)
  }

  caughtUp(): Promise<void> | undefined {
    return this.#store.caughtUp()
  }

  audit(cursor?: string, limit?: number, order?: AuditOrder): AsyncIterable<FoundEntry> {
    return this.#store.audit(cursor, limit, order)
  }

  async close(): Promise<void> {
    await this.#store.close()
  }
}
