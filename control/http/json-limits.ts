import type { Issue } from '../../src/core/errors.js'
import { InvalidInput } from '../../src/core/errors.js'
import { pointerToken } from '../../src/core/schema.js'

/** Maximum depth of nested lists and objects. */
export const MAX_DEPTH = 64
const FORBIDDEN = new Set(['__proto__', 'constructor', 'prototype'])

const MAX_ISSUES = 10

/** Returns whether a JSON text without escapes can have such names. */
export const isSuspect = (bytes: Buffer): boolean => [...FORBIDDEN].some((name) => bytes.includes(name))

/** Throws InvalidInput for more than 64 nested lists and objects, and for member names that reach into prototypes. */
export function assertNotHostile(value: unknown): void {
  const issues: Issue[] = []
  walk(value, [], issues)
  if (issues.length > 0) throw new InvalidInput(issues)
}

/** `path` is the pointer to `value`. The recursion ends at the maximum depth. */
function walk(value: unknown, path: (string | number)[], issues: Issue[]): void {
  if (value === null || typeof value !== 'object' || issues.length >= MAX_ISSUES) return
  if (path.length >= MAX_DEPTH) {
    issues.push({ pointer: pointer(path), message: `is nested deeper than ${MAX_DEPTH} levels` })
    return
  }
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
    if (FORBIDDEN.has(key)) issues.push({ pointer: pointer(path), message: 'is not a member name that is allowed' })
    walk((value as Record<string, unknown>)[key], path, issues)
    path.pop()
  }
}

const pointer = (path: readonly (string | number)[]): string => path.map((step) => `/${pointerToken(step)}`).join('')
