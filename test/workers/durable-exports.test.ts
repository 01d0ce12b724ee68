import t from 'tap'
import type { ExportEntry, ExportKind } from '../../src/core/model/worker.js'
import { reconcile } from '../../src/workers/durable/reconcile.js'
import { SCENARIOS } from '../../src/workers/durable/reconciliation.js'
import { DurableDraft } from '../../src/workers/durable/state.js'
import { namespace, transfer } from './durable-helper.js'

interface Row {
  readonly exports: Readonly<Record<string, Omit<ExportEntry, 'type'>>>
  /** Class in code; with `?` it has no known base. */
  readonly code?: readonly string[]
  readonly has?: readonly string[]
  readonly waits?: readonly string[]
  readonly scripts?: readonly string[]
  readonly bound?: readonly string[]
  readonly containers?: readonly { name?: string; class_name?: string }[]
  /** Errors, as `Class scenario`. */
  readonly errors?: readonly string[]
  /** Notices, as `Class scenario`. */
  readonly info?: readonly string[]
  readonly result?: object
  /** Namespaces and transfers afterwards, where they changed. */
  readonly leaves?: readonly string[]
}

const sqlite = { storage: 'sqlite' } as const
const expecting = { state: 'expecting-transfer', storage: 'sqlite', transfer_from: 'src' } as const
const ROWS: readonly (readonly [what: string, row: Row])[] = [
  [
    'created, in code, none: made',
    { exports: { A: sqlite }, code: ['A'], result: { created: ['A'] }, leaves: ['me/A'] },
  ],
  [
    'created, in code without a known base: made',
    { exports: { A: sqlite }, code: ['A?'], result: { created: ['A'] }, leaves: ['me/A'] },
  ],
  [
    'created as legacy-kv, none',
    { exports: { A: { storage: 'legacy-kv' } }, code: ['A'], errors: ['A invalid_export'] },
  ],
  [
    'created, same storage',
    { exports: { A: sqlite }, code: ['A'], has: ['me/A'], result: { created: [], updated: [] } },
  ],
  ['created as legacy-kv, same storage', { exports: { A: { storage: 'legacy-kv' } }, code: ['A'], has: ['me/A:kv'] }],
  [
    'created, other storage',
    { exports: { A: sqlite }, code: ['A'], has: ['me/A:kv'], errors: ['A storage_type_mismatch'] },
  ],
  [
    'created as legacy-kv, other storage',
    { exports: { A: { storage: 'legacy-kv' } }, code: ['A'], has: ['me/A'], errors: ['A storage_type_mismatch'] },
  ],
  ['created, not in code, there', { exports: { A: sqlite }, has: ['me/A'], errors: ['A config_export_not_in_code'] }],
  ['created, not in code, none', { exports: { A: sqlite }, errors: ['A config_references_nonexistent_class'] }],
  [
    'created with a new container',
    {
      exports: { A: { ...sqlite, container: 'c' } },
      containers: [{ name: 'c' }],
      code: ['A'],
      has: ['me/A'],
      result: { updated: ['A'] },
      leaves: ['me/A+c'],
    },
  ],
  [
    'no entry, in code, there',
    { exports: {}, code: ['A'], has: ['me/A'], errors: ['A provisioned_class_missing_from_config'] },
  ],
  ['no entry, in code, none', { exports: {}, code: ['A'], info: ['A code_class_not_in_exports'] }],
  ['no entry, a class of no known base', { exports: {}, code: ['A?'], info: [] }],
  ['no entry, not in code, there', { exports: {}, has: ['me/A'], errors: ['A orphaned_provisioned_namespace'] }],
  [
    'deleted, not in code, there',
    { exports: { A: { state: 'deleted' } }, has: ['me/A'], result: { deleted: ['A'] }, leaves: [] },
  ],
  [
    'deleted, bound by another',
    {
      exports: { A: { state: 'deleted' } },
      has: ['me/A'],
      bound: ['other'],
      errors: ['A tombstone_delete_blocked_by_external_bindings'],
    },
  ],
  [
    'deleted, in code, there',
    {
      exports: { A: { state: 'deleted' } },
      code: ['A'],
      has: ['me/A'],
      errors: ['A tombstone_delete_class_still_in_code'],
    },
  ],
  [
    'deleted, none',
    { exports: { A: { state: 'deleted' } }, info: ['A stale_tombstone'], result: { removable_entries: ['A'] } },
  ],
  [
    'deleted, in code, none',
    {
      exports: { A: { state: 'deleted' } },
      code: ['A'],
      info: ['A stale_tombstone'],
      result: { removable_entries: ['A'] },
    },
  ],
  [
    'renamed',
    {
      exports: { A: { state: 'renamed', renamed_to: 'B' }, B: sqlite },
      code: ['B'],
      has: ['me/A'],
      result: { renamed: [{ from: 'A', to: 'B' }], created: [] },
      leaves: ['me/B'],
    },
  ],
  [
    'renamed, still in code',
    {
      exports: { A: { state: 'renamed', renamed_to: 'B' }, B: sqlite },
      code: ['A', 'B'],
      has: ['me/A'],
      info: ['A tombstone_class_still_in_code'],
      leaves: ['me/B'],
    },
  ],
  [
    'renamed, occupied',
    {
      exports: { A: { state: 'renamed', renamed_to: 'B' }, B: sqlite },
      code: ['B'],
      has: ['me/A', 'me/B'],
      errors: ['A tombstone_renamed_to_occupied'],
    },
  ],
  [
    'renamed, none',
    {
      exports: { A: { state: 'renamed', renamed_to: 'B' }, B: sqlite },
      code: ['B'],
      has: ['me/B'],
      info: ['A stale_tombstone'],
      result: { removable_entries: ['A'] },
    },
  ],
  [
    'renamed, none, still bound',
    {
      exports: { A: { state: 'renamed', renamed_to: 'B' }, B: sqlite },
      code: ['B'],
      has: ['me/B'],
      bound: ['other'],
      info: ['A stale_tombstone'],
      result: { removable_entries: [] },
    },
  ],
  [
    'transferred',
    {
      exports: { A: { state: 'transferred', transferred_to: 'dst' } },
      has: ['me/A'],
      scripts: ['dst'],
      waits: ['dst/A<me'],
      result: { transferred: [{ class: 'A', to: 'dst', phase: 'committed' }] },
      leaves: ['dst/A<me'],
    },
  ],
  [
    'transferred, still in code',
    {
      exports: { A: { state: 'transferred', transferred_to: 'dst' } },
      code: ['A'],
      has: ['me/A'],
      scripts: ['dst'],
      waits: ['dst/A<me'],
      info: ['A tombstone_class_still_in_code'],
      leaves: ['dst/A<me'],
    },
  ],
  [
    'transferred, nobody waits',
    {
      exports: { A: { state: 'transferred', transferred_to: 'dst' } },
      has: ['me/A'],
      scripts: ['dst'],
      errors: ['A transferred_pending_not_found'],
    },
  ],
  [
    'transferred, target gone',
    {
      exports: { A: { state: 'transferred', transferred_to: 'dst' } },
      has: ['me/A'],
      errors: ['A transferred_target_missing'],
    },
  ],
  [
    'transferred, another waits',
    {
      exports: { A: { state: 'transferred', transferred_to: 'dst' } },
      has: ['me/A'],
      scripts: ['dst', 'third'],
      waits: ['third/A<me'],
      errors: ['A transferred_target_mismatch'],
    },
  ],
  [
    'transferred, a container here only',
    {
      exports: { A: { state: 'transferred', transferred_to: 'dst' } },
      has: ['me/A+c'],
      scripts: ['dst'],
      waits: ['dst/A<me'],
      errors: ['A transfer_container_parity_mismatch_on_commit'],
    },
  ],
  [
    'transferred, none',
    { exports: { A: { state: 'transferred', transferred_to: 'dst' } }, scripts: ['dst'], info: ['A stale_tombstone'] },
  ],
  [
    'expecting',
    {
      exports: { A: expecting },
      has: ['src/A'],
      scripts: ['src'],
      result: { transfer_pending: [{ class: 'A', from: 'src' }] },
      leaves: ['src/A', 'wait me/A<src'],
    },
  ],
  [
    'expecting again',
    {
      exports: { A: expecting },
      has: ['src/A'],
      scripts: ['src'],
      waits: ['me/A<src'],
      result: { transfer_pending: [{ class: 'A', from: 'src' }] },
    },
  ],
  ['expecting, no source', { exports: { A: expecting }, errors: ['A phase_one_transfer_source_missing'] }],
  [
    'expecting, source without the class',
    { exports: { A: expecting }, scripts: ['src'], errors: ['A phase_one_transfer_source_namespace_missing'] },
  ],
  [
    'expecting, other storage',
    { exports: { A: expecting }, has: ['src/A:kv'], scripts: ['src'], errors: ['A storage_type_mismatch'] },
  ],
  [
    'expecting, a container there only',
    { exports: { A: expecting }, has: ['src/A+c'], scripts: ['src'], errors: ['A transfer_container_parity_mismatch'] },
  ],
  [
    'expecting, own class',
    {
      exports: { A: expecting },
      has: ['me/A', 'src/A'],
      scripts: ['src'],
      errors: ['A phase_one_transfer_target_class_provisioned'],
    },
  ],
  [
    'expecting, received',
    { exports: { A: expecting }, has: ['me/A<src'], scripts: ['src'], info: ['A transfer_receive_already_applied'] },
  ],
  [
    'expecting, received from another',
    {
      exports: { A: expecting },
      has: ['me/A<third'],
      scripts: ['src'],
      errors: ['A phase_one_transfer_after_commit_mismatch'],
    },
  ],
  [
    'expecting, waits for another',
    {
      exports: { A: expecting },
      has: ['src/A'],
      scripts: ['src'],
      waits: ['me/A<third'],
      errors: ['A phase_one_transfer_duplicate'],
    },
  ],
  ['cancelled: no entry any more', { exports: {}, has: ['src/A'], waits: ['me/A<src'], leaves: ['src/A'] }],
  [
    'cancelled: made here',
    {
      exports: { A: sqlite },
      code: ['A'],
      has: ['src/A'],
      waits: ['me/A<src'],
      result: { created: ['A'] },
      leaves: ['me/A', 'src/A'],
    },
  ],
  [
    'created after it was received',
    {
      exports: { A: sqlite },
      code: ['A'],
      has: ['me/A<src'],
      info: ['A transfer_receive_cleanup_complete'],
      leaves: ['me/A'],
    },
  ],
  [
    'a container that is not declared',
    { exports: { A: { ...sqlite, container: 'c' } }, code: ['A'], errors: ['A container_undeclared_reference'] },
  ],
  [
    'one container for two classes',
    {
      exports: { A: { ...sqlite, container: 'c' }, B: { ...sqlite, container: 'c' } },
      containers: [{ name: 'c' }],
      code: ['A', 'B'],
      errors: ['B container_multiple_durable_objects'],
    },
  ],
  [
    'a container of no class',
    { exports: {}, containers: [{ name: 'c', class_name: 'X' }], errors: ['X container_class_not_durable_object'] },
  ],
  [
    'a container that the class does not name',
    {
      exports: { A: { ...sqlite, container: 'd' } },
      containers: [{ name: 'c', class_name: 'A' }, { name: 'd' }],
      code: ['A'],
      errors: ['A container_wiring_inconsistent'],
    },
  ],
  [
    'several errors are told at once',
    {
      exports: { A: sqlite, B: { state: 'deleted' } },
      code: ['B'],
      has: ['me/B', 'me/C'],
      errors: [
        'B tombstone_delete_class_still_in_code',
        'A config_references_nonexistent_class',
        'C orphaned_provisioned_namespace',
      ],
    },
  ],
]

const reported = (notices: readonly { class: string; scenario: string }[]): string[] =>
  notices.map((notice) => `${notice.class} ${notice.scenario}`)

t.test('exports are reconciled with what there is', async (t) => {
  const seen = new Set<string>()
  for (const [what, row] of ROWS) {
    const draft = new DurableDraft({
      namespaces: (row.has ?? []).map(namespace),
      transfers: (row.waits ?? []).map(transfer),
    })
    const { result, errors } = reconcile(draft, {
      script: 'me',
      exports: Object.fromEntries(
        Object.entries(row.exports).map(([name, entry]) => [name, { type: 'durable-object', ...entry }]),
      ),
      code: new Map(
        (row.code ?? []).map((name): [string, ExportKind] => [
          name.replace('?', ''),
          name.endsWith('?') ? 'class' : 'durable-object',
        ]),
      ),
      containers: row.containers ?? [],
      scriptExists: (name) => row.scripts?.includes(name) === true,
      referencing: () => row.bound ?? [],
    })
    for (const { scenario } of [...errors, ...result.info]) seen.add(scenario)
    t.same(reported(errors), row.errors ?? [], what)
    if (row.errors) continue
    t.same(reported(result.info), row.info ?? [], what)
    t.match(result, { warnings: [], ...row.result }, what)
    if (!row.leaves) continue
    const left = [
      ...['me', 'src', 'dst']
        .flatMap((script) => draft.of(script))
        .map(
          (one) =>
            `${one.script}/${one.class}${one.received_from ? `<${one.received_from}` : ''}${one.container ? `+${one.container}` : ''}`,
        ),
      ...draft.transfers(() => true).map((one) => `wait ${one.target}/${one.class}<${one.source}`),
    ]
    t.same(left.sort(), [...row.leaves].sort(), what)
  }
  t.same(
    SCENARIOS.filter((scenario) => !seen.has(scenario)),
    [],
    'every scenario occurs',
  )
})
