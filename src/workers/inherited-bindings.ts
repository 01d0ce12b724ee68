import type { Binding } from '../core/model/worker.js'
import { BINDINGS } from './bindings/index.js'
import { reject, type UploadIssue } from './upload-errors.js'

export interface InheritInput {
  /** As uploaded. */
  readonly bindings: readonly Binding[]
  /** Types of bindings that are retained although the upload does not name them. */
  readonly keep: readonly string[]
  /** Bindings of the latest version, with their secrets unencrypted. */
  readonly before: readonly Binding[]
  /** Returns the bindings of an older version that may be inherited by its id, or undefined. */
  readonly version?: ((id: string) => readonly Binding[] | undefined) | undefined
  /** Refuses what cannot be inherited, in place of leaving it out. */
  readonly strict: boolean
}

/**
 * Returns the bindings of a version: the bindings of the upload, in their order and with inherited values in place of
 * `inherit`, then the retained bindings. Throws UploadRefused.
 */
export function resolveBindings({ bindings, keep, before, version, strict }: InheritInput): Binding[] {
  const issues: UploadIssue[] = []
  const normalize = bindings.flatMap((binding, index): Binding[] => {
    if (binding.type !== 'inherit') return [BINDINGS.get(binding.type)?.normalize(binding) ?? binding]
    const { name, old_name: oldName, version_id: id = 'latest' } = binding
    const at = `/bindings/${index}`
    const from = id === 'latest' ? before : version?.(String(id))
    if (!from) {
      const why = version ? 'no version has this id' : 'version_id must be "latest" here'
      issues.push(invalid(name, `${at}/version_id`, why))
      return []
    }
    const wanted = typeof oldName === 'string' ? oldName : name
    const found = from.find((one) => one.name === wanted)
    if (!found && strict)
      issues.push(invalid(name, at, `the ${id === 'latest' ? 'latest ' : ''}version has no such binding`))
    return found ? [{ ...found, name }] : []
  })
  reject(issues)
  const named = new Set(bindings.map(({ name }) => name))
  return [...normalize, ...before.filter(({ name, type }) => keep.includes(type) && !named.has(name))]
}

/**
 * Converts bindings of an unchecked document that have only a name and a type. If the previous version has a binding of
 * that name and type, the binding inherits it. Clients list retained bindings in this form.
 */
export function withStanding(document: object, before: readonly Binding[]): object {
  const { bindings } = document as { bindings?: unknown }
  if (!Array.isArray(bindings)) return document
  const types = new Map(before.map(({ name, type }) => [name, type]))
  const stands = (binding: unknown): boolean => {
    if (binding === null || typeof binding !== 'object' || Object.keys(binding).length !== 2) return false
    const { name, type } = binding as Partial<Binding>
    return name !== undefined && type !== undefined && types.get(name) === type
  }
  const inherited = (binding: unknown) => (stands(binding) ? { ...(binding as Binding), type: 'inherit' } : binding)
  return { ...document, bindings: bindings.map(inherited) }
}

const invalid = (name: string, pointer: string, why: string): UploadIssue => ({
  kind: 'inheritBinding',
  pointer,
  // Clients know it by its beginning.
  message: `inherit binding '${name}' is invalid: ${why}`,
})
