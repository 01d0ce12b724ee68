import { Type, type Static } from 'typebox'
import type { Binding, ExportEntry } from '../../core/model/worker.js'
import { mapOf, orNull, strict } from '../../core/schema.js'
import { AssetConfig } from '../assets/config.js'
import { ExportInput } from './exports.js'
import { Observability } from './observability.js'
import { PlacementInput } from './placement.js'

const Names = (description: string) => Type.Array(Type.String({ minLength: 1, maxLength: 1024 }), { description })

const Step = {
  deleted_classes: Type.Optional(Names('Classes whose namespaces go, with all their objects.')),
  new_classes: Type.Optional(Names('Classes that get a namespace, the older kind of storage.')),
  new_sqlite_classes: Type.Optional(Names('Classes that get a namespace with SQLite.')),
  renamed_classes: Type.Optional(
    Type.Array(Type.Object({ from: Type.String({ minLength: 1 }), to: Type.String({ minLength: 1 }) })),
  ),
  transferred_classes: Type.Optional(
    Type.Array(
      Type.Object({
        from: Type.String({ minLength: 1 }),
        from_script: Type.String({ minLength: 1 }),
        to: Type.String({ minLength: 1 }),
      }),
    ),
  ),
}

/** One step of a migration. */
export const MigrationStep = Type.Object(Step)
export type MigrationStep = Static<typeof MigrationStep>

/** Changes of Durable Object classes, as one step or several in order. */
export const Migrations = Type.Object({
  old_tag: Type.Optional(Type.String({ description: 'The tag that the script must have now.' })),
  new_tag: Type.Optional(Type.String({ minLength: 1, description: 'The tag that it has afterwards.' })),
  ...Step,
  steps: Type.Optional(Type.Array(MigrationStep, { description: 'In place of the members of one step.' })),
})
export type Migrations = Static<typeof Migrations>

/** The metadata part of an upload. Members that it does not name stay unchanged. */
export const Metadata = Type.Object({
  annotations: Type.Optional(mapOf(Type.String(), { description: '`workers/message`, `workers/tag`.' })),
  assets: Type.Optional(
    Type.Object({
      config: Type.Optional(AssetConfig),
      jwt: Type.Optional(Type.String({ minLength: 1, description: 'The completion token of an upload of assets.' })),
    }),
  ),
  bindings: Type.Optional(
    Type.Unsafe<Binding[]>(
      Type.Array(Type.Object({}), { description: 'Each has a name, a type and the members of that type.' }),
    ),
  ),
  body_part: Type.Optional(Type.String({ minLength: 1, description: 'The part that holds a service-worker script.' })),
  cache_options: Type.Optional(
    Type.Object({ enabled: Type.Boolean(), cross_version_cache: Type.Optional(Type.Boolean()) }),
  ),
  compatibility_date: Type.Optional(
    Type.String({ format: 'date', 'x-message': 'must be a date, as in 2026-11-21', examples: ['2026-11-21'] }),
  ),
  compatibility_flags: Type.Optional(Names('Runtime features to switch on or off.')),
  containers: Type.Optional(
    Type.Array(
      Type.Object({ name: Type.Optional(Type.String({ minLength: 1 })), class_name: Type.Optional(Type.String()) }),
    ),
  ),
  exports: Type.Optional(
    Type.Unsafe<Record<string, ExportEntry>>(mapOf(ExportInput, { description: 'By exported name.' })),
  ),
  keep_assets: Type.Optional(Type.Boolean({ description: 'Keeps the assets of the version before.' })),
  keep_bindings: Type.Optional(Names('Types of bindings to retain from the previous version.')),
  limits: Type.Optional(
    Type.Object({
      cpu_ms: Type.Optional(Type.Integer({ minimum: 1, maximum: 300_000 })),
      subrequests: Type.Optional(Type.Integer({ minimum: 1 })),
    }),
  ),
  logpush: Type.Optional(Type.Boolean()),
  main_module: Type.Optional(Type.String({ minLength: 1, description: 'The part that holds the main module.' })),
  migrations: Type.Optional(Migrations),
  observability: Type.Optional(Observability),
  package_dependencies: Type.Optional(
    Type.Array(
      Type.Object({
        name: Type.String({ minLength: 1 }),
        packageJsonVersion: Type.String(),
        installedVersion: Type.String(),
      }),
    ),
  ),
  placement: Type.Optional(PlacementInput),
  tags: Type.Optional(
    Type.Array(
      Type.String({
        minLength: 1,
        maxLength: 1024,
        pattern: '^[^,]+$',
        'x-message': 'must be 1 to 1024 characters without a comma',
      }),
      { maxItems: 100 },
    ),
  ),
  tail_consumers: Type.Optional(
    orNull(
      Type.Array(
        Type.Object({
          service: Type.String({ minLength: 1 }),
          environment: Type.Optional(Type.String()),
          namespace: Type.Optional(Type.String()),
        }),
      ),
    ),
  ),
  usage_model: Type.Optional(Type.Enum(['standard', 'bundled', 'unbound'])),
})
export type Metadata = Static<typeof Metadata>

const { tags, ...versioned } = Type.Pick(Metadata, [
  'annotations',
  'bindings',
  'cache_options',
  'compatibility_date',
  'compatibility_flags',
  'exports',
  'limits',
  'logpush',
  'migrations',
  'observability',
  'placement',
  'tags',
  'tail_consumers',
  'usage_model',
]).properties

/** Settings of a script and its version that can change without new code. Omitted members stay. */
export const VersionSettings = Type.Object({ ...versioned, tags: Type.Optional(orNull(tags)) }, strict)
export type VersionSettings = Static<typeof VersionSettings>
