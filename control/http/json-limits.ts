import type { Issue } from '../../src/core/errors.js'
import { InvalidInput } from '../../src/core/errors.js'
import { pointerToken } from '../../src/core/schema.js'

const FORBIDDEN = new Set(['__proto__', 'constructor', 'prototype'])

const MAX_ISSUES = 10

/** Throws InvalidInput for member names that reach into prototypes. The depth of `value` is limited already. */
export function assertHostile(value: unknown): void {
  const issues: Issue[] = []
  walk(value, [], issues)
  if (issues.length > 0) throw new InvalidInput(issues)
}

/** `path` leads to `value`. */
function walk(value: unknown, path: (string | number)[], issues: Issue[]): void {
  if (value === null || typeof value !== 'object' || issues.length >= MAX_ISSUES) return
  if (Array.isArray(value)) {
    for (const [index, member] of value.entries()) {
      if (typeof member !== 'object') continue
      path.push(index)
      walk(member, path, issues)
      path.pop()
    }
    return
  }
  for (const key of Object.keys(value)) {
    path.push(key)
    if (FORBIDDEN.has(key)) issues.push({ pointer: pointer(path), message: 'is not allowed as a member name' })
    walk((value as Record<string, unknown>)[key], path, issues)
    path.pop()
  }
}

const pointer = (path: readonly (string | number)[]): string => path.map((step) => `/${pointerToken(step)}`).join('')
