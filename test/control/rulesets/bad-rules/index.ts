import { BAD_CACHE } from './cache.js'
import { BAD_CHANGES } from './changes.js'
import { BAD_MEMBERS } from './every-action.js'
import { BAD_SECURITY } from './security.js'
import type { BadRule } from './bad-rule.js'

/** Rules that are refused, each with the places of its errors. */
export const BAD_RULES: readonly BadRule[] = [...BAD_MEMBERS, ...BAD_SECURITY, ...BAD_CHANGES, ...BAD_CACHE]
