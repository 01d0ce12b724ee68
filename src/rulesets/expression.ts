import type { ExpressionType } from '../edge/action.js'
import type { PhaseName } from '../edge/phases.js'

/** Characters of one expression. */
export const MOST_CHARACTERS = 4096

/** What an expression is for: what it may read and what it has to give. */
export interface ExpressionPurpose {
  readonly phase: PhaseName
  readonly gives: ExpressionType
}

/** What is wrong with an expression; undefined where nothing is. The one place where the API asks the rules language. */
export function checkExpression(text: string, _purpose: ExpressionPurpose): string | undefined {
  if (text.trim() === '') return 'must not be empty'
  const length = text.length <= MOST_CHARACTERS ? text.length : characters(text)
  return length > MOST_CHARACTERS ? `has ${length} characters, ${MOST_CHARACTERS} are allowed` : undefined
}

/** A character outside the basic plane counts once. */
function characters(text: string): number {
  let count = 0
  for (const _character of text) count++
  return count
}
