/** A condition of the rules language, built from parts. */
export interface Condition {
  readonly text: string
  /** How the outermost parts are joined. Undefined if the condition is one part. */
  readonly joined?: 'and' | 'or'
}

/** True for every request. */
export const ALWAYS: Condition = { text: 'true' }
/** True for no request. */
export const NEVER: Condition = { text: 'false' }

/** A condition that is one comparison, function call or field. */
export const part = (text: string): Condition => ({ text })

const nested = (condition: Condition, joined: 'and' | 'or'): string =>
  condition.joined === undefined || condition.joined === joined ? condition.text : `(${condition.text})`

/** Returns the condition that all of the given ones hold. */
export function allOf(...conditions: readonly Condition[]): Condition {
  if (conditions.includes(NEVER)) return NEVER
  const kept = distinct(conditions.filter((condition) => condition !== ALWAYS))
  if (kept.length === 0) return ALWAYS
  return kept.length === 1 ? kept[0]! : { text: kept.map((each) => nested(each, 'and')).join(' and '), joined: 'and' }
}

/** Returns the condition that one of the given ones holds. */
export function anyOf(...conditions: readonly Condition[]): Condition {
  if (conditions.includes(ALWAYS)) return ALWAYS
  const kept = distinct(conditions.filter((condition) => condition !== NEVER))
  if (kept.length === 0) return NEVER
  return kept.length === 1 ? kept[0]! : { text: kept.map((each) => nested(each, 'or')).join(' or '), joined: 'or' }
}

/** Returns the condition that the given one does not hold. */
export function noneOf(condition: Condition): Condition {
  if (condition === ALWAYS) return NEVER
  if (condition === NEVER) return ALWAYS
  return part(`not ${condition.joined === undefined ? condition.text : `(${condition.text})`}`)
}

const distinct = (conditions: readonly Condition[]): Condition[] => {
  const seen = new Set<string>()
  return conditions.filter(({ text }) => !seen.has(text) && seen.add(text))
}

/** Returns a text as a quoted literal. */
export const literal = (text: string): string => `"${text.replaceAll(/["\\]/g, (char) => `\\${char}`)}"`

/** Returns a pattern as a raw literal, in which no character needs an escape. */
export function patternLiteral(pattern: string): string {
  let fence = ''
  while (pattern.includes(`"${fence}`)) fence += '#'
  return `r${fence}"${pattern}"${fence}`
}

/** Escapes a text for use in a regular expression. */
export const escapePattern = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)

/** The path of a request as rules change it. */
export const PATH = 'http.request.uri.path'
/** The path of a request as it arrived, decoded. */
export const FIRST_PATH = 'url_decode(raw.http.request.uri.path)'

/** A condition on a path, for the field that contains the path. */
export type PathCondition = (field: string) => Condition

export const isPath =
  (path: string): PathCondition =>
  (field) =>
    part(`${field} eq ${literal(path)}`)

export const beginsWith =
  (prefix: string): PathCondition =>
  (field) =>
    prefix === '' || prefix === '/' ? ALWAYS : part(`starts_with(${field}, ${literal(prefix)})`)

export const matches =
  (pattern: string): PathCondition =>
  (field) =>
    part(`${field} matches ${patternLiteral(pattern)}`)

/** Returns the condition that a field is one of the texts. */
export const isOneOf = (field: string, texts: readonly string[]): Condition =>
  texts.length === 1 ? part(`${field} eq ${literal(texts[0]!)}`) : part(`${field} in {${texts.map(literal).join(' ')}}`)

/** Returns the condition that the client has one of the addresses or networks. */
export const isClient = (networks: readonly string[]): Condition => part(`ip.src in {${networks.join(' ')}}`)
