import type { ExportEntry } from '../../core/model/worker.js'
import type { Notice, Scenario } from './reconciliation.js'

/** One of the metadata's `containers`. */
export interface Container {
  readonly name?: string
  readonly class_name?: string
}

/** Returns mismatches between the containers of an upload and the classes that use them. */
export function containerIssues(
  entries: readonly (readonly [name: string, entry: ExportEntry])[],
  containers: readonly Container[],
): Notice[] {
  const issues: Notice[] = []
  const issue = (className: string, scenario: Scenario, message: string) =>
    issues.push({ class: className, scenario, message })
  const declared = new Set(containers.map(({ name }) => name))
  const users = new Map<string, string>()
  for (const [name, { container }] of entries) {
    if (container === undefined) continue
    const other = users.get(container)
    if (!declared.has(container)) issue(name, 'container_undeclared_reference', `unknown container ${container}`)
    else if (other !== undefined)
      issue(name, 'container_multiple_durable_objects', `the class ${other} has the container ${container} already`)
    users.set(container, name)
  }
  const live = new Map(entries.filter(([, { storage }]) => storage !== undefined))
  for (const { name, class_name: className } of containers) {
    if (className === undefined) continue
    const entry = live.get(className)
    if (!entry) issue(className, 'container_class_not_durable_object', `exports has no live class ${className}`)
    else if (entry.container !== undefined && entry.container !== name)
      issue(
        className,
        'container_wiring_inconsistent',
        `the class names the container ${entry.container}, the container ${String(name)} names the class`,
      )
  }
  return issues
}
