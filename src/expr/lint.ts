import type { Expression } from './index.js'
export interface Lint {
  readonly message: string
}
export const lint = (_: Expression): Lint[] => []
export const lintRules = (): Lint[] => []
