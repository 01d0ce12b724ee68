import { UNLIMITED, type Budget } from '../language/budget.js'
import { TRANSFORM_PHASES } from '../fields/info.js'
import { parseRegex, RegexSyntaxError, type Regex } from '../regex/index.js'
import type { ArgInfo, Callee, FunctionDef } from '../language/scheme.js'
import { BYTES } from '../language/types.js'
import { parseWildcard } from '../language/wildcard.js'
import { bytes, expand, flags, replacement } from './params.js'

/** Returns the pattern, or why it is invalid. */
function regexOf(pattern: string): Regex | string {
  try {
    return parseRegex(pattern)
  } catch (error) {
    if (error instanceof RegexSyntaxError) return error.message
    throw error
  }
}

/** Returns a replacement function within a budget. */
function replacing([, pattern]: readonly ArgInfo[]): (budget: Budget) => Callee {
  const regex = regexOf(String(pattern?.literal))
  // An expression that was not checked for a place may contain an invalid pattern.
  if (typeof regex === 'string') return () => () => undefined
  regex.build()
  return (budget) => (text, _, template) => {
    if (typeof text !== 'string' || typeof template !== 'string') return undefined
    const match = regex.test(text, budget) ? regex.exec(text, budget) : undefined
    if (match === undefined) return text
    const group = (index: number) => {
      const start = match[index * 2] ?? -1
      return start === -1 ? '' : text.slice(start, match[index * 2 + 1])
    }
    const replaced = expand(template, group)
    return replaced === undefined ? undefined : text.slice(0, match[0]) + replaced + text.slice(match[1])
  }
}

/** Replaces the first match of a pattern; `${1}` in the replacement is group 1. */
export const regexReplace: FunctionDef = {
  name: 'regex_replace',
  params: [
    bytes('any'),
    bytes('literal', ({ literal }) => {
      const regex = regexOf(String(literal))
      return typeof regex === 'string' ? regex : undefined
    }),
    replacement(),
  ],
  optional: [],
  phases: [...TRANSFORM_PHASES, 'http_request_dynamic_redirect(target_url)'],
  valueOnly: true,
  once: true,
  returns: () => BYTES,
  prepare: (args) => replacing(args)(UNLIMITED),
  prepareWithin: replacing,
}

/** Replaces the text if it matches a wildcard pattern as a whole; `${1}` is the match of the first star. */
export const wildcardReplace: FunctionDef = {
  name: 'wildcard_replace',
  params: [
    bytes(),
    bytes('literal', ({ literal }) => {
      const wildcard = parseWildcard(String(literal), true)
      return typeof wildcard === 'string' ? wildcard : undefined
    }),
    replacement(),
  ],
  optional: [flags('s')],
  phases: ['http_request_transform', 'http_request_dynamic_redirect(target_url)'],
  valueOnly: true,
  once: true,
  returns: () => BYTES,
  prepare: (args) => replacingStars(args)(UNLIMITED),
  prepareWithin: replacingStars,
}

function replacingStars([, pattern, , options]: readonly ArgInfo[]): (budget: Budget) => Callee {
  const wildcard = parseWildcard(String(pattern?.literal), options !== undefined && options.literal === 's')
  return (budget) => (text, _, template) => {
    if (typeof text !== 'string' || typeof template !== 'string' || typeof wildcard === 'string') return undefined
    const stars = wildcard.exec(text, budget)
    return stars === undefined ? text : expand(template, (index) => stars[index - 1] ?? '')
  }
}

const QUERIES = ['http.request.uri.query', 'raw.http.request.uri.query']

/** Removes the named arguments from a query string. The others keep their order. */
export const removeQueryArgs: FunctionDef = {
  name: 'remove_query_args',
  params: [
    bytes('field', ({ field }) =>
      field !== undefined && QUERIES.includes(field) ? undefined : `must be ${QUERIES.join(' or ')}`,
    ),
    bytes('literal'),
  ],
  optional: [],
  rest: bytes('literal'),
  phases: TRANSFORM_PHASES,
  valueOnly: true,
  returns: () => BYTES,
  prepare: (args) => removing(args)(UNLIMITED),
  prepareWithin: removing,
}

/** Cost of one argument of a query, in steps of the budget. */
const ARGUMENT_STEPS = 16

function removing([, ...names]: readonly ArgInfo[]): (budget: Budget) => Callee {
  const unwanted = new Set(names.map(({ literal }) => literal))
  return (budget) => (query) => {
    if (typeof query !== 'string') return undefined
    const args = query.split('&')
    budget.spend(args.length * ARGUMENT_STEPS)
    return args.filter((arg) => !unwanted.has(arg.split('=', 1)[0] ?? '')).join('&')
  }
}
