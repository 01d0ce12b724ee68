import type { Issue } from '../src/core/errors.js'
import { InvalidInput } from '../src/core/errors.js'
import { pointerToken } from '../src/core/schema.js'

const MOST_DEPTH = 64
const FORBIDDEN = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * Refuses what no schema should have to think about: more than 64 levels of lists and objects, and keys that reach
 * into prototypes. Walks with a stack of its own, so that depth cannot exhaust the engine's.
 */
export function refuseHostile(value: unknown): void {
  const issues: Issue[] = []
  const open: { value: unknown; pointer: string; depth: number }[] = [{ value, pointer: '', depth: 1 }]
  for (let at = open.pop(); at && issues.length < 10; at = open.pop()) {
    const { value, pointer, depth } = at
    if (value === null || typeof value !== 'object') continue
    if (depth > MOST_DEPTH) {
      throw new InvalidInput([{ pointer, message: `is nested deeper than ${MOST_DEPTH} levels` }])
    }
    for (const [key, member] of Object.entries(value)) {
      const here = `${pointer}/${pointerToken(key)}`
      if (FORBIDDEN.has(key)) issues.push({ pointer: here, message: 'is not a member that a body may have' })
      if (member !== null && typeof member === 'object') open.push({ value: member, pointer: here, depth: depth + 1 })
    }
  }
  if (issues.length > 0) throw new InvalidInput(issues)
}
