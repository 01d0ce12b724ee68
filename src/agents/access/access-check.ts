import type { Issue } from '../../core/errors.js'
import { nearest } from '../../core/nearest.js'
import type { Catalogue } from '../catalogue/catalogue.js'
import { AGENT_CATEGORIES } from '../catalogue/form.js'
import { fitsOf, priceOf, VERIFICATIONS, valuesOf, type AccessOptions, type AgentFacts, type Who } from './access.js'

/** Returns the issues of the entries of `access`, by their place below `at`. */
export function accessEntryIssues(entries: readonly AccessOptions[], catalogue: Catalogue, at: string): Issue[] {
  const issues = entries.flatMap((entry, index) => entryIssues(entry, catalogue, `${at}/${index}`))
  return issues.length > 0 ? issues : unreachedIssues(entries, catalogue, at)
}

function entryIssues(entry: AccessOptions, catalogue: Catalogue, at: string): Issue[] {
  const { who, price, free } = entry
  const pays = entry.do === 'pay'
  return [
    ...memberIssues(who, 'name', `${at}/who`, (name) => nameIssue(name, catalogue)),
    ...memberIssues(who, 'operator', `${at}/who`, (name) => operatorIssue(name, catalogue)),
    ...memberIssues(who, 'category', `${at}/who`, categoryIssue),
    ...memberIssues(who, 'verified', `${at}/who`, verifiedIssue),
    ...(pays && price === undefined
      ? [{ pointer: `${at}/price`, message: 'is required: pay needs a price, as in USD 0.01' }]
      : []),
    ...(!pays && price !== undefined ? [{ pointer: `${at}/price`, message: 'belongs to pay only' }] : []),
    ...(!pays && free !== undefined ? [{ pointer: `${at}/free`, message: 'belongs to pay only' }] : []),
    ...(price !== undefined && priceOf(price)?.millionths === 0n
      ? [{ pointer: `${at}/price`, message: 'must be more than 0; use allow for what costs nothing' }]
      : []),
  ]
}

function memberIssues(
  who: Who,
  member: keyof Who,
  at: string,
  check: (value: string | boolean) => string | undefined,
): Issue[] {
  const given = who[member]
  const values = valuesOf<string | boolean>(given) ?? []
  return values.flatMap((value, index) => {
    const message = check(value)
    return message === undefined
      ? []
      : [{ pointer: `${at}/${member}${Array.isArray(given) ? `/${index}` : ''}`, message }]
  })
}

/** Signers that the catalogue lacks have the host of their key directory as name. */
const HOST = /^([a-z0-9_]([a-z0-9_-]*[a-z0-9_])?\.)+[a-z0-9]([a-z0-9-]*[a-z0-9])?$/

function nameIssue(value: string | boolean, catalogue: Catalogue): string | undefined {
  const name = String(value)
  const entry = catalogue.get(name)
  if (entry?.robots_only)
    return `${name} is a name for robots.txt that no client sends; write it there, or name the crawler that it belongs to`
  if (entry !== undefined || HOST.test(name)) return undefined
  return `is no agent of the catalogue: ${name}${meant(name, catalogue.keys())}`
}

function operatorIssue(value: string | boolean, catalogue: Catalogue): string | undefined {
  const name = String(value)
  const operators = new Set([...catalogue.values()].map(({ operator }) => operator))
  if (operators.has(name) || HOST.test(name)) return undefined
  return `is no operator of the catalogue: ${name}${meant(name, operators)}`
}

const categoryIssue = (value: string | boolean): string | undefined =>
  AGENT_CATEGORIES.some((category) => category === value)
    ? undefined
    : `is no category: ${value}${meant(String(value), AGENT_CATEGORIES) || `; use one of ${AGENT_CATEGORIES.join(', ')}`}`

const verifiedIssue = (value: string | boolean): string | undefined =>
  typeof value === 'boolean' || VERIFICATIONS.some((one) => one === value && one !== 'none')
    ? undefined
    : `must be true, false, address or signature, not ${value}`

function meant(name: string, known: Iterable<string>): string {
  const found = nearest(name, known)
  return found === undefined ? '' : `, did you mean ${found}`
}

/** Returns an issue for each entry that fits no agent, or only agents that the entries before it fit. */
function unreachedIssues(entries: readonly AccessOptions[], catalogue: Catalogue, at: string): Issue[] {
  const agents = possibleAgents(entries, catalogue)
  // The last entry that fitted it is not needed: an agent leaves the list with its first one.
  let left = agents
  return entries.flatMap(({ who }, index) => {
    const fits = fitsOf(who)
    const rest = left.filter((agent) => !fits(agent))
    const reached = rest.length < left.length
    left = rest
    if (reached) return []
    const message = agents.some(fits)
      ? 'is never reached: the entries before it fit all its agents'
      : 'is never reached: no agent fits all members of who'
    return [{ pointer: `${at}/${index}`, message }]
  })
}

/** Returns the agents that a request can have. They are the agents of the catalogue, hosts that entries name, and any other signer. */
function possibleAgents(entries: readonly AccessOptions[], catalogue: Catalogue): AgentFacts[] {
  const hosts = new Set(
    entries.flatMap(({ who }) => [...(valuesOf(who.name) ?? []), ...(valuesOf(who.operator) ?? [])]),
  )
  const known = [...catalogue.values()].filter(({ robots_only }) => !robots_only)
  const others = [...hosts, ''].filter((host) => host === '' || (HOST.test(host) && !catalogue.has(host)))
  return VERIFICATIONS.flatMap((verified) => [
    ...known.map(({ name, operator, category }) => ({ name, operator, category, verified })),
    ...others.map((host) => ({ name: host, operator: host, category: 'other' as const, verified })),
  ])
}
