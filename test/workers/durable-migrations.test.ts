import t from 'tap'
import { migrate } from '../../src/workers/durable/migrations.js'
import { DurableDraft } from '../../src/workers/durable/state.js'
import type { Migrations } from '../../src/workers/metadata/schema.js'
import { namespace } from './durable-helper.js'

interface Move {
  readonly migrations: Migrations
  readonly tag?: string
  readonly classes?: readonly string[]
  readonly has?: readonly string[]
  /** Kind of the fault and where it is. */
  readonly fault?: readonly [kind: string, pointer: string]
  readonly leaves?: readonly string[]
}

const MOVES: readonly (readonly [what: string, move: Move])[] = [
  ['a new class', { migrations: { new_tag: 'v1', new_classes: ['A'] }, classes: ['A'], leaves: ['me/A:kv'] }],
  [
    'a new class with SQLite',
    { migrations: { new_tag: 'v1', new_sqlite_classes: ['A'] }, classes: ['A'], leaves: ['me/A'] },
  ],
  [
    'a class renamed',
    {
      migrations: { old_tag: 'v1', new_tag: 'v2', renamed_classes: [{ from: 'A', to: 'B' }] },
      tag: 'v1',
      classes: ['B'],
      has: ['me/A'],
      leaves: ['me/B'],
    },
  ],
  ['a class deleted', { migrations: { old_tag: 'v1', deleted_classes: ['A'] }, tag: 'v1', has: ['me/A'], leaves: [] }],
  [
    'a class from another script',
    {
      migrations: { transferred_classes: [{ from: 'A', from_script: 'src', to: 'B' }] },
      classes: ['B'],
      has: ['src/A'],
      leaves: ['me/B'],
    },
  ],
  [
    'steps in order',
    {
      migrations: {
        new_tag: 'v3',
        steps: [
          { new_sqlite_classes: ['A'] },
          { renamed_classes: [{ from: 'A', to: 'B' }] },
          { deleted_classes: ['B'], new_classes: ['C'] },
        ],
      },
      classes: ['C'],
      leaves: ['me/C:kv'],
    },
  ],
  [
    'deleted and made anew',
    {
      migrations: { deleted_classes: ['A'], new_sqlite_classes: ['A'] },
      classes: ['A'],
      has: ['me/A:kv'],
      leaves: ['me/A'],
    },
  ],
  ['nothing to do', { migrations: { old_tag: 'v1', new_tag: 'v2' }, tag: 'v1', leaves: [] }],
  [
    'another old tag',
    { migrations: { old_tag: 'v0', new_tag: 'v2' }, tag: 'v1', fault: ['migrationTag', '/migrations/old_tag'] },
  ],
  [
    'no old tag where there is one',
    { migrations: { new_tag: 'v2' }, tag: 'v1', fault: ['migrationTag', '/migrations/old_tag'] },
  ],
  ['an old tag where there is none', { migrations: { old_tag: 'v1' }, fault: ['migrationTag', '/migrations/old_tag'] }],
  [
    'a new class that is not exported',
    { migrations: { new_classes: ['A'] }, fault: ['newClassNotExported', '/migrations/new_classes/0'] },
  ],
  [
    'a renamed class that is not exported',
    {
      migrations: { renamed_classes: [{ from: 'A', to: 'B' }] },
      has: ['me/A'],
      fault: ['newClassNotExported', '/migrations/renamed_classes/0/to'],
    },
  ],
  [
    'a new class that is there',
    {
      migrations: { new_classes: ['A'] },
      classes: ['A'],
      has: ['me/A'],
      fault: ['badMigration', '/migrations/new_classes/0'],
    },
  ],
  [
    'a deleted class that is not there',
    { migrations: { deleted_classes: ['A'] }, fault: ['badMigration', '/migrations/deleted_classes/0'] },
  ],
  [
    'a renamed class that is not there',
    {
      migrations: { renamed_classes: [{ from: 'A', to: 'B' }] },
      fault: ['badMigration', '/migrations/renamed_classes/0/from'],
    },
  ],
  [
    'renamed onto another',
    {
      migrations: { renamed_classes: [{ from: 'A', to: 'B' }] },
      has: ['me/A', 'me/B'],
      fault: ['badMigration', '/migrations/renamed_classes/0/to'],
    },
  ],
  [
    'two renamed onto one',
    {
      migrations: {
        renamed_classes: [
          { from: 'A', to: 'C' },
          { from: 'B', to: 'C' },
        ],
      },
      has: ['me/A', 'me/B'],
      fault: ['badMigration', '/migrations/renamed_classes/1/to'],
    },
  ],
  [
    'one class made twice',
    {
      migrations: { new_classes: ['A'], new_sqlite_classes: ['A'] },
      classes: ['A'],
      fault: ['badMigration', '/migrations/new_sqlite_classes/0'],
    },
  ],
  [
    'had from itself',
    {
      migrations: { transferred_classes: [{ from: 'A', from_script: 'me', to: 'B' }] },
      has: ['me/A'],
      fault: ['badMigration', '/migrations/transferred_classes/0/from'],
    },
  ],
  [
    'had from nobody',
    {
      migrations: { transferred_classes: [{ from: 'A', from_script: 'src', to: 'B' }] },
      fault: ['badMigration', '/migrations/transferred_classes/0/from'],
    },
  ],
  [
    'had onto another',
    {
      migrations: { transferred_classes: [{ from: 'A', from_script: 'src', to: 'B' }] },
      has: ['src/A', 'me/B'],
      fault: ['badMigration', '/migrations/transferred_classes/0/to'],
    },
  ],
  [
    'a fault in the second step',
    {
      migrations: { steps: [{ new_classes: ['A'] }, { new_classes: ['A'] }] },
      classes: ['A'],
      fault: ['badMigration', '/migrations/steps/1/new_classes/0'],
    },
  ],
  [
    'steps beside a step',
    { migrations: { new_classes: ['A'], steps: [] }, classes: ['A'], fault: ['badMigration', '/migrations/steps'] },
  ],
]

t.test('migrations run step by step', async (t) => {
  for (const [what, { migrations, tag, classes = [], has = [], fault, leaves }] of MOVES) {
    const draft = new DurableDraft({ namespaces: has.map(namespace), transfers: [] })
    const faults = migrate(draft, { script: 'me', migrations, currentTag: tag, classes: new Set(classes) })
    t.same(
      faults.map(({ kind, pointer }) => [kind, pointer]),
      fault ? [fault] : [],
      what,
    )
    if (leaves)
      t.same(
        draft.of('me').map((one) => `me/${one.class}${one.use_sqlite ? '' : ':kv'}`),
        leaves,
        what,
      )
  }
})
