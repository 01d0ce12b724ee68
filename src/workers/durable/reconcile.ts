import type { ExportEntry, ExportKind, StoredNamespace } from '../../core/model/worker.js'
import { containerIssues, type Container } from './containers.js'
import { emptyReconciliation, type Notice, type Reconciliation, type Scenario } from './reconciliation.js'
import type { DurableDraft } from './state.js'

/** Input of the comparison with `exports`. */
export interface ExportsInput {
  readonly script: string
  readonly exports: Readonly<Record<string, ExportEntry>>
  /** Exported names of the code and their kinds. */
  readonly code: ReadonlyMap<string, ExportKind>
  readonly containers: readonly Container[]
  readonly scriptExists: (name: string) => boolean
  /** Other scripts with a binding to a class of this one. */
  readonly referencing: (className: string, namespaceId?: string) => readonly string[]
}

/** Outcome for each class. If there are errors, the outcome must not be stored. */
export interface Reconciled {
  readonly result: Reconciliation
  readonly errors: readonly Notice[]
}

/** Brings the namespaces of the draft in line with `exports`, by the table that the tests walk. */
export function reconcile(draft: DurableDraft, input: ExportsInput): Reconciled {
  const run = new Run(draft, input)
  run.all()
  return run
}

type Entry = readonly [name: string, entry: ExportEntry]

class Run implements Reconciled {
  readonly result = emptyReconciliation()
  readonly errors: Notice[] = []
  readonly #draft: DurableDraft
  readonly #input: ExportsInput
  /** The namespaces as they were, by class. */
  readonly #own: ReadonlyMap<string, StoredNamespace>

  constructor(draft: DurableDraft, input: ExportsInput) {
    this.#draft = draft
    this.#input = input
    this.#own = new Map(draft.of(input.script).map((namespace) => [namespace.class, namespace]))
  }

  all(): void {
    const { exports, containers } = this.#input
    const entries: Entry[] = Object.entries(exports).filter(([, { type }]) => type === 'durable-object')
    const of = (wanted: string) => entries.filter(([, { state = 'created' }]) => state === wanted)
    this.errors.push(...containerIssues(entries, containers))
    this.#cancelTransfers()
    // Deletions and transfers come first, so that names are free for the next entries.
    for (const entry of of('deleted')) this.#deleted(entry)
    for (const entry of of('transferred')) this.#transferred(entry)
    for (const entry of of('renamed')) this.#renamed(entry)
    for (const entry of of('expecting-transfer')) this.#expecting(entry)
    for (const entry of of('created')) this.#created(entry)
    this.#unnamed(new Set(entries.map(([name]) => name)))
  }

  #created([name, entry]: Entry): void {
    const found = this.#draft.find(this.#input.script, name)
    const inCode = this.#inCode(name)
    if (!found) {
      if (!inCode)
        this.#error(name, 'config_references_nonexistent_class', `neither the code nor the account has a class ${name}`)
      else if (entry.storage === 'legacy-kv')
        this.#error(name, 'invalid_export', 'a new namespace has the storage sqlite')
      else {
        this.#draft.create(this.#input.script, name, {
          use_sqlite: true,
          ...(entry.container !== undefined && { container: entry.container }),
        })
        this.result.created.push(name)
      }
      return
    }
    if (!inCode) {
      this.#error(
        name,
        'config_export_not_in_code',
        `the code does not export the class ${name}`,
        found,
        'export the class, or delete it with an entry of state deleted',
      )
      return
    }
    if (!this.#sameStorage(name, entry, found)) return
    const { received_from, container, ...rest } = found
    if (received_from !== undefined)
      this.#info(
        name,
        'transfer_receive_cleanup_complete',
        `the class is this script's own; ${received_from} transferred it`,
        found,
      )
    if (received_from === undefined && container === entry.container) return
    this.#draft.put({ ...rest, ...(entry.container !== undefined && { container: entry.container }) })
    if (container !== entry.container) this.result.updated.push(name)
  }

  #deleted([name]: Entry): void {
    const found = this.#own.get(name)
    if (!found) return this.#stale(name)
    if (this.#inCode(name)) {
      this.#error(
        name,
        'tombstone_delete_class_still_in_code',
        `the code still exports the class ${name}`,
        found,
        'remove the class from the code',
      )
      return
    }
    const scripts = this.#input.referencing(name, found.id)
    if (scripts.length > 0) {
      const message = `other scripts have bindings to the class ${name}: ${scripts.join(', ')}`
      this.#error(
        name,
        'tombstone_delete_blocked_by_external_bindings',
        message,
        found,
        'remove those bindings first',
        scripts,
      )
      return
    }
    this.#draft.remove(found)
    this.result.deleted.push(name)
  }

  #renamed([name, { renamed_to: to = '' }]: Entry): void {
    const found = this.#own.get(name)
    if (!found) return this.#stale(name, this.#input.referencing(name))
    const occupant = this.#draft.find(this.#input.script, to)
    if (occupant) {
      this.#error(name, 'tombstone_renamed_to_occupied', `the class ${to} has a namespace already`, occupant)
      return
    }
    this.#draft.put({ ...found, class: to })
    this.result.renamed.push({ from: name, to })
    this.#stillInCode(name, found)
  }

  #transferred([name, { transferred_to: to = '' }]: Entry): void {
    const found = this.#own.get(name)
    if (!found) return this.#stale(name)
    if (!this.#input.scriptExists(to)) {
      this.#error(name, 'transferred_target_missing', `script ${to} not found`, found)
      return
    }
    const waiting = this.#draft.transfers((one) => one.source === this.#input.script && one.class === name)
    const transfer = waiting.find(({ target }) => target === to)
    if (!transfer) {
      const [other] = waiting
      if (other)
        this.#error(
          name,
          'transferred_target_mismatch',
          `the script ${other.target} waits for the class, not ${to}`,
          found,
        )
      else
        this.#error(
          name,
          'transferred_pending_not_found',
          `the script ${to} does not wait for the class ${name}`,
          found,
          'deploy it with an entry of state expecting-transfer first',
        )
      return
    }
    if ((transfer.container === undefined) !== (found.container === undefined)) {
      this.#error(
        name,
        'transfer_container_parity_mismatch_on_commit',
        'one side has a container for the class, the other has none',
        found,
      )
      return
    }
    const { container: _ours, ...rest } = found
    this.#draft.put({
      ...rest,
      script: to,
      received_from: this.#input.script,
      ...(transfer.container !== undefined && { container: transfer.container }),
    })
    this.#draft.settle(transfer)
    this.result.transferred.push({ class: name, to, phase: 'committed' })
    this.#stillInCode(name, found)
  }

  #expecting([name, entry]: Entry): void {
    const { script, scriptExists } = this.#input
    const { transfer_from: source = '', storage = 'sqlite', container } = entry
    const own = this.#own.get(name)
    if (own) {
      if (own.received_from === source)
        this.#info(name, 'transfer_receive_already_applied', `the class came from ${source} already`, own)
      else if (own.received_from !== undefined)
        this.#error(
          name,
          'phase_one_transfer_after_commit_mismatch',
          `the class came from ${own.received_from}, not ${source}`,
          own,
        )
      else
        this.#error(
          name,
          'phase_one_transfer_target_class_provisioned',
          `the script has a namespace of the class ${name} already`,
          own,
        )
      return
    }
    const [pending] = this.#draft.transfers((one) => one.target === script && one.class === name)
    if (pending && pending.source !== source) {
      this.#error(name, 'phase_one_transfer_duplicate', `the script waits for the class from ${pending.source} already`)
      return
    }
    if (source === script || !scriptExists(source)) {
      this.#error(name, 'phase_one_transfer_source_missing', `script ${source}, which has the class, not found`)
      return
    }
    const offered = this.#draft.find(source, name)
    if (!offered) {
      this.#error(
        name,
        'phase_one_transfer_source_namespace_missing',
        `the script ${source} has no namespace of the class ${name}`,
      )
      return
    }
    if (!this.#sameStorage(name, entry, offered)) return
    if ((container === undefined) !== (offered.container === undefined)) {
      this.#error(
        name,
        'transfer_container_parity_mismatch',
        'one side has a container for the class, the other has none',
        offered,
      )
      return
    }
    if (pending) this.#draft.settle(pending)
    this.#draft.expect({ target: script, class: name, source, storage, ...(container !== undefined && { container }) })
    this.result.transfer_pending.push({ class: name, from: source })
  }

  /** Cancels transfers whose entry was removed or changed. */
  #cancelTransfers(): void {
    const { script, exports } = this.#input
    for (const transfer of this.#draft.transfers(({ target }) => target === script)) {
      const entry = Object.hasOwn(exports, transfer.class) ? exports[transfer.class] : undefined
      if (entry?.state !== 'expecting-transfer') this.#draft.settle(transfer)
    }
  }

  /** Handles classes that have no entry in `exports`. */
  #unnamed(named: ReadonlySet<string>): void {
    for (const [name, namespace] of this.#own) {
      if (named.has(name)) continue
      if (this.#inCode(name))
        this.#error(
          name,
          'provisioned_class_missing_from_config',
          `exports has no entry for the class ${name}`,
          namespace,
          'add an entry for it',
        )
      else
        this.#error(
          name,
          'orphaned_provisioned_namespace',
          `neither the code nor exports has the class ${name}`,
          namespace,
          'delete it with an entry of state deleted',
        )
    }
    this.result.info.push(...undeclaredClasses(this.#input.code, (name) => named.has(name) || this.#own.has(name)))
  }

  #inCode(name: string): boolean {
    const kind = this.#input.code.get(name)
    return kind === 'durable-object' || kind === 'class'
  }

  #sameStorage(name: string, { storage }: ExportEntry, namespace: StoredNamespace): boolean {
    const has = namespace.use_sqlite ? 'sqlite' : 'legacy-kv'
    if (storage === has) return true
    this.#error(
      name,
      'storage_type_mismatch',
      `the namespace has the storage ${has}, not ${String(storage)}`,
      namespace,
    )
    return false
  }

  #stillInCode(name: string, namespace: StoredNamespace): void {
    if (this.#inCode(name))
      this.#info(name, 'tombstone_class_still_in_code', `the code still exports the class ${name}`, namespace)
  }

  #stale(name: string, scripts: readonly string[] = []): void {
    const message = `class ${name} has no namespace any more`
    this.#info(name, 'stale_tombstone', message, undefined, scripts)
    if (scripts.length === 0) this.result.removable_entries.push(name)
  }

  #info(
    name: string,
    scenario: Scenario,
    message: string,
    namespace?: StoredNamespace,
    scripts: readonly string[] = [],
  ): void {
    this.result.info.push(notice(name, scenario, message, namespace, scripts))
  }

  #error(
    name: string,
    scenario: Scenario,
    message: string,
    namespace?: StoredNamespace,
    suggestion?: string,
    scripts: readonly string[] = [],
  ): void {
    this.errors.push({
      ...notice(name, scenario, message, namespace, scripts),
      ...(suggestion !== undefined && { suggestion }),
    })
  }
}

/** Returns a notice for each Durable Object class of the code that is neither declared nor has a namespace. */
export const undeclaredClasses = (
  code: ReadonlyMap<string, ExportKind>,
  isKnown: (name: string) => boolean,
): Notice[] =>
  [...code].flatMap(([name, kind]) => {
    if (kind !== 'durable-object' || isKnown(name)) return []
    const message = `the code exports the class ${name}, but exports has no entry for it`
    return [notice(name, 'code_class_not_in_exports', message, undefined, [])]
  })

const notice = (
  name: string,
  scenario: Scenario,
  message: string,
  namespace: StoredNamespace | undefined,
  scripts: readonly string[],
): Notice => ({
  class: name,
  scenario,
  message,
  ...(namespace && { namespace_id: namespace.id }),
  ...(scripts.length > 0 && { referencing_scripts: [...scripts] }),
})
