import type { Scope } from '../../core/scope.js'

/** Rules of one phase that the API stored and that are not in force, because the file has the phase. */
export interface KeptRules {
  readonly scope: Scope
  readonly phase: string
  readonly rules: number
}

/** Returns the number of rules that are kept, in words. Undefined if none are. */
export function keptText(kept: readonly KeptRules[]): string | undefined {
  const rules = kept.reduce((sum, one) => sum + one.rules, 0)
  if (rules === 0) return undefined
  const phases = [...new Set(kept.map(({ phase }) => phase))].join(', ')
  return `${rules} rule${rules === 1 ? '' : 's'} of the API not in force: the file has ${phases}`
}
