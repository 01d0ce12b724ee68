import type { UploadIssue } from '../upload-errors.js'
import type { MigrationStep, Migrations } from '../metadata/schema.js'
import type { DurableDraft } from './state.js'

/** Input of a migration. */
export interface MigrationInput {
  readonly script: string
  readonly migrations: Migrations
  /** Tag of the last migration. */
  readonly currentTag: string | undefined
  /** Names that the uploaded code exports and that can be classes. */
  readonly classes: ReadonlySet<string>
}

/**
 * Runs the steps of a migration on the draft, in order. Returns the issues, with pointers into the metadata. With
 * issues the draft must not be used.
 */
export function migrate(
  draft: DurableDraft,
  { script, migrations, currentTag, classes }: MigrationInput,
): UploadIssue[] {
  const { old_tag, steps, old_tag: _old, new_tag: _new, ...single } = migrations
  if (old_tag !== currentTag) return [tagIssue(old_tag, currentTag)]
  if (steps && Object.keys(single).length > 0)
    return [bad('/migrations/steps', 'does not go with the members of a single step')]
  const made = new Map<string, string>()
  for (const [index, step] of (steps ?? [single]).entries()) {
    const issues = new Step(draft, script, steps ? `/migrations/steps/${index}` : '/migrations', made).run(step)
    if (issues.length > 0) return issues
  }
  // Checked last, because one step can create a class and the next one can rename it.
  return draft.of(script).flatMap(({ id, class: name }): UploadIssue[] => {
    const pointer = made.get(id)
    if (pointer === undefined || classes.has(name)) return []
    return [{ kind: 'newClassNotExported', pointer, message: `the script does not export a class ${name}` }]
  })
}

function tagIssue(given: string | undefined, current: string | undefined): UploadIssue {
  const expected = given === undefined ? 'no tag' : `tag ${JSON.stringify(given)}`
  const found = current === undefined ? 'no tag' : `tag ${JSON.stringify(current)}`
  const message = `migration tag precondition failed; expected ${expected}, the current one is ${found}`
  return { kind: 'migrationTag', pointer: '/migrations/old_tag', message }
}

const bad = (pointer: string, message: string): UploadIssue => ({ kind: 'badMigration', pointer, message })

/** One step, with the classes that it creates, renames, transfers and deletes. */
class Step {
  readonly #draft: DurableDraft
  readonly #script: string
  readonly #at: string
  readonly #issues: UploadIssue[] = []
  /** Pointer to the migration step that created or moved a namespace, by id. */
  readonly #made: Map<string, string>
  readonly #targets = new Set<string>()

  constructor(draft: DurableDraft, script: string, at: string, made: Map<string, string>) {
    this.#draft = draft
    this.#script = script
    this.#at = at
    this.#made = made
  }

  run(step: MigrationStep): UploadIssue[] {
    const { deleted_classes, renamed_classes, transferred_classes, new_classes, new_sqlite_classes } = step
    deleted_classes?.forEach((name, index) => this.#delete(name, `deleted_classes/${index}`))
    renamed_classes?.forEach(({ from, to }, index) => this.#rename(from, to, `renamed_classes/${index}`))
    transferred_classes?.forEach((move, index) => this.#transfer(move, `transferred_classes/${index}`))
    new_classes?.forEach((name, index) => this.#create(name, false, `new_classes/${index}`))
    new_sqlite_classes?.forEach((name, index) => this.#create(name, true, `new_sqlite_classes/${index}`))
    return this.#issues
  }

  #delete(name: string, at: string): void {
    const found = this.#draft.find(this.#script, name)
    if (found) this.#draft.remove(found)
    else this.#reject(at, `cannot apply delete-class migration: class ${name} has no namespace`)
  }

  #rename(from: string, to: string, at: string): void {
    const found = this.#draft.find(this.#script, from)
    if (!found) this.#reject(`${at}/from`, `cannot apply rename-class migration: class ${from} has no namespace`)
    else if (this.#free(to, `${at}/to`, 'rename')) {
      this.#draft.put({ ...found, class: to })
      this.#made.set(found.id, `${this.#at}/${at}/to`)
    }
  }

  #transfer({ from, from_script, to }: { from: string; from_script: string; to: string }, at: string): void {
    const found = from_script === this.#script ? undefined : this.#draft.find(from_script, from)
    if (!found)
      this.#reject(
        `${at}/from`,
        `cannot apply transfer-class migration: the script ${from_script} has no class ${from}`,
      )
    else if (this.#free(to, `${at}/to`, 'transfer')) {
      this.#draft.put({ ...found, script: this.#script, class: to, received_from: from_script })
      this.#made.set(found.id, `${this.#at}/${at}/to`)
    }
  }

  #create(name: string, use_sqlite: boolean, at: string): void {
    if (!this.#free(name, at, 'new')) return
    const { id } = this.#draft.create(this.#script, name, { use_sqlite })
    this.#made.set(id, `${this.#at}/${at}`)
  }

  /** Returns whether a class may become the target of a migration. Reports an issue if not. */
  #free(name: string, at: string, what: string): boolean {
    if (this.#targets.has(name)) {
      this.#reject(at, `the class ${name} cannot be the target of more than one migration`)
      return false
    }
    this.#targets.add(name)
    if (!this.#draft.find(this.#script, name)) return true
    this.#reject(at, `cannot apply ${what}-class migration: the class ${name} has a namespace already`)
    return false
  }

  #reject(at: string, message: string): void {
    this.#issues.push(bad(`${this.#at}/${at}`, message))
  }
}
