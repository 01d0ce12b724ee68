import type { AgentCategory } from '../catalogue/form.js'

/** How an agent was verified: by its address, by the signature of its request, or not at all. */
export const VERIFICATIONS = ['none', 'address', 'signature'] as const

export type Verification = (typeof VERIFICATIONS)[number]

/** What happens to the requests of an agent. */
export const ACCESS_ACTIONS = ['allow', 'block', 'markdown', 'canonical', 'challenge', 'pay'] as const

export type AccessAction = (typeof ACCESS_ACTIONS)[number]

/** Who sent a request, as rules and `access` see it. */
export interface AgentFacts {
  /** Name in the catalogue, or the host of the key directory of another signer. */
  readonly name: string
  readonly operator: string
  readonly category: AgentCategory
  readonly verified: Verification
}

type OneOrMore<T> = T | readonly T[]

/** Which agents an entry of `access` is about. All members must fit. */
export interface Who {
  readonly name?: OneOrMore<string>
  readonly operator?: OneOrMore<string>
  readonly category?: OneOrMore<string>
  readonly verified?: OneOrMore<string | boolean>
}

/** An entry of `access` as configured. */
export interface AccessOptions {
  readonly who: Who
  readonly do: AccessAction
  readonly price?: string
  readonly free?: readonly string[]
}

/** An entry of `access` in force. */
export interface AccessEntry {
  readonly action: AccessAction
  /** Price of a request with `pay`. */
  readonly price: Price | undefined
  fits(agent: AgentFacts): boolean
  /** Returns whether a path costs nothing. */
  isFree(path: string): boolean
}

/** An amount of money. */
export interface Price {
  /** Three capital letters. */
  readonly currency: string
  /** Millionths of the currency. */
  readonly millionths: bigint
  /** As it was written, `USD 0.01`. */
  readonly text: string
}

const PRICE = /^([A-Z]{3}) (\d{1,9})(?:\.(\d{1,6}))?$/

/** Returns the amount that `USD 0.01` names, or undefined for another text. */
export function priceOf(text: string): Price | undefined {
  const [, currency, whole, fraction = ''] = PRICE.exec(text) ?? []
  if (currency === undefined || whole === undefined) return undefined
  return { currency, millionths: BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, '0')), text }
}

/** Returns the values of a member, or undefined if every value fits. */
export const valuesOf = <T>(member: OneOrMore<T> | undefined): readonly T[] | undefined =>
  member === undefined ? undefined : Array.isArray(member) ? (member as readonly T[]) : [member as T]

/** Returns the verifications that a member `verified` names. */
function verificationsOf(member: Who['verified']): ReadonlySet<Verification> {
  const found = new Set<Verification>()
  for (const value of valuesOf(member) ?? [true, false]) {
    if (value === false) found.add('none')
    else if (value === true) found.add('address').add('signature')
    else found.add(value as Verification)
  }
  return found
}

/** Returns a function that decides whether an agent is meant. */
export function fitsOf(who: Who): (agent: AgentFacts) => boolean {
  const names = setOf(who.name)
  const operators = setOf(who.operator)
  const categories = setOf(who.category)
  const verifications = verificationsOf(who.verified)
  return ({ name, operator, category, verified }) =>
    (names === undefined || names.has(name)) &&
    (operators === undefined || operators.has(operator)) &&
    (categories === undefined || categories.has(category)) &&
    verifications.has(verified)
}

const setOf = (member: OneOrMore<string> | undefined): ReadonlySet<string> | undefined => {
  const values = valuesOf(member)
  return values && new Set(values)
}

/** Returns the entries of `access` in force, in their order. */
export const accessOf = (entries: readonly AccessOptions[]): readonly AccessEntry[] =>
  entries.map((entry) => ({
    action: entry.do,
    price: entry.price === undefined ? undefined : priceOf(entry.price),
    fits: fitsOf(entry.who),
    isFree: freeOf(entry.free ?? []),
  }))

/** Paths that crawlers read to learn the rules of a site, and that therefore cost nothing. */
const ALWAYS_FREE: ReadonlySet<string> = new Set([
  '/robots.txt',
  '/sitemap.xml',
  '/llms.txt',
  '/security.txt',
  '/crawlers.json',
])

function freeOf(patterns: readonly string[]): (path: string) => boolean {
  const parts = patterns.map((pattern) => pattern.split('*'))
  return (path) =>
    ALWAYS_FREE.has(path) || path.startsWith('/.well-known/') || parts.some((pattern) => matches(path, pattern))
}

/** Returns whether a text consists of the parts in their order, with any characters between them. The time is linear. */
function matches(text: string, parts: readonly string[]): boolean {
  const first = parts[0] ?? ''
  if (parts.length === 1) return text === first
  const last = parts.at(-1) ?? ''
  if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last)) return false
  let at = first.length
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return at <= text.length - last.length
}
