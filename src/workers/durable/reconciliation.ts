import { Type, type Static } from 'typebox'

/** Errors and notices about entries of `exports` that can occur here. */
export const SCENARIOS = [
  'code_class_not_in_exports',
  'provisioned_class_missing_from_config',
  'config_export_not_in_code',
  'config_references_nonexistent_class',
  'orphaned_provisioned_namespace',
  'storage_type_mismatch',
  'invalid_export',
  'tombstone_delete_class_still_in_code',
  'tombstone_delete_blocked_by_external_bindings',
  'tombstone_renamed_to_occupied',
  'transferred_pending_not_found',
  'transferred_target_missing',
  'transferred_target_mismatch',
  'phase_one_transfer_source_missing',
  'phase_one_transfer_source_namespace_missing',
  'phase_one_transfer_target_class_provisioned',
  'phase_one_transfer_after_commit_mismatch',
  'phase_one_transfer_duplicate',
  'container_undeclared_reference',
  'container_class_not_durable_object',
  'container_wiring_inconsistent',
  'container_multiple_durable_objects',
  'transfer_container_parity_mismatch',
  'transfer_container_parity_mismatch_on_commit',
  'tombstone_class_still_in_code',
  'stale_tombstone',
  'transfer_receive_already_applied',
  'transfer_receive_cleanup_complete',
] as const
export type Scenario = (typeof SCENARIOS)[number]

const Names = Type.Array(Type.String())

/** A notice or an error about one class. */
export const Notice = Type.Object({
  class: Type.String(),
  scenario: Type.String(),
  message: Type.String(),
  namespace_id: Type.Optional(Type.String()),
  referencing_scripts: Type.Optional(Names),
  suggestion: Type.Optional(Type.String()),
})
export type Notice = Static<typeof Notice>

/** Outcome for the Durable Object classes of an upload with `exports`. */
export const Reconciliation = Type.Object({
  created: Names,
  updated: Names,
  deleted: Names,
  renamed: Type.Array(Type.Object({ from: Type.String(), to: Type.String() })),
  transferred: Type.Array(Type.Object({ class: Type.String(), to: Type.String(), phase: Type.Literal('committed') })),
  transfer_pending: Type.Array(Type.Object({ class: Type.String(), from: Type.String() })),
  warnings: Type.Array(Notice),
  info: Type.Array(Notice),
  removable_entries: Type.Array(Type.String(), { description: 'Tombstones that have nothing left to do.' }),
})
export type Reconciliation = Static<typeof Reconciliation>

export const emptyReconciliation = (): Reconciliation => ({
  created: [],
  updated: [],
  deleted: [],
  renamed: [],
  transferred: [],
  transfer_pending: [],
  warnings: [],
  info: [],
  removable_entries: [],
})
