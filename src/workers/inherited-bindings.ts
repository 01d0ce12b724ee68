import type { Binding } from '../core/model/worker.js'
import { BINDINGS } from './bindings/index.js'
import { reject, type UploadIssue } from './upload/errors.js'

export interface InheritInput {
  /** As uploaded. */
  readonly bindings: readonly Binding[]
  /** Types of bindings that are kept though the upload does not name them. */
  readonly keep: readonly string[]
  /** Bindings of the latest version, their secrets in the clear. */
  readonly before: readonly Binding[]
  /** Returns the bindings of an older version that may be inherited by its id, or undefined. */
  readonly version?: ((id: string) => readonly Binding[] | undefined) | undefined
  /** Refuses what cannot be inherited, in place of leaving it out. */
  readonly strict: boolean
}

/**
 * The bindings that a version gets: those of the upload, in their order, with what they inherit in the place of `inherit`,
 * and then those that are kept. Throws UploadRefused.
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
 * Converts bindings of an unchecked document that have only a name and a type: if the previous version has a binding of
 * that name and type, they inherit it. Clients list the bindings that are to remain in this form.
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
