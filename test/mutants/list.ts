import { ACCESS } from './access.js'
import { AGENTS } from './agents.js'
import { CACHE } from './cache.js'
import { DURABILITY } from './durability.js'
import { EGRESS } from './egress.js'
import { LIMITS } from './limits.js'
import { MESSAGES } from './messages.js'
import type { Mutant } from './mutant.js'

/** All guards that a test must notice the absence of, by area. */
export const MUTANTS: readonly Mutant[] = [
  ...ACCESS,
  ...LIMITS,
  ...EGRESS,
  ...MESSAGES,
  ...CACHE,
  ...AGENTS,
  ...DURABILITY,
]
