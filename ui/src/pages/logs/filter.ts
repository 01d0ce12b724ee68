/** Filters of log jobs: rows of conditions, and the JSON text that the API takes. */

export interface Condition {
  readonly key: string
  readonly operator: string
  readonly value: string
}

/** Conditions that all have to hold, or one of which has to. */
export interface Conditions {
  readonly join: 'and' | 'or'
  readonly rows: readonly Condition[]
}

/** A field of a dataset, as the API describes it. */
export interface DatasetField {
  readonly name: string
  readonly type: string
  readonly default: boolean
  readonly deprecated: boolean
  readonly operators: readonly string[]
}

export interface DatasetInfo {
  readonly name: string
  readonly merges: boolean
  readonly fields: readonly DatasetField[]
}

/** Words for operators. */
export const OPERATOR_NAMES: Readonly<Record<string, string>> = {
  eq: 'is',
  '!eq': 'is not',
  lt: 'is below',
  leq: 'is at most',
  gt: 'is above',
  geq: 'is at least',
  startsWith: 'starts with',
  '!startsWith': 'does not start with',
  endsWith: 'ends with',
  '!endsWith': 'does not end with',
  contains: 'contains',
  '!contains': 'does not contain',
  in: 'is one of',
  '!in': 'is not one of',
}

const NO_CONDITIONS: Conditions = { join: 'and', rows: [] }

type Where = Readonly<Record<string, unknown>>

/** Reads the text of a filter. Undefined if it is not rows of conditions: then it stays text. */
export function readFilter(text: string): Conditions | undefined {
  if (text.trim() === '') return NO_CONDITIONS
  let where: unknown
  try {
    where = (JSON.parse(text) as { where?: unknown }).where
  } catch {
    return undefined
  }
  if (typeof where !== 'object' || where === null) return undefined
  const { and, or } = where as Where
  const list = Array.isArray(and) ? and : Array.isArray(or) ? or : [where]
  const rows = list.map((one) => conditionOf(one as Where))
  if (rows.some((row) => row === undefined)) return undefined
  return { join: Array.isArray(or) ? 'or' : 'and', rows: rows as Condition[] }
}

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value)

function conditionOf({ key, operator, value, ...others }: Where): Condition | undefined {
  if (typeof key !== 'string' || typeof operator !== 'string' || Object.keys(others).length > 0) return undefined
  // Such a number has lost digits.
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) return undefined
  // A text with a comma cannot be told from two.
  if (Array.isArray(value) && value.some((one) => String(one).includes(','))) return undefined
  const text = Array.isArray(value) ? value.join(', ') : textOf(value)
  return { key, operator, value: text }
}

/** Writes the text of a filter. Empty without conditions. */
export function writeFilter({ join, rows }: Conditions, fields: readonly DatasetField[]): string {
  const types = new Map(fields.map(({ name, type }) => [name, type]))
  const list = rows.map(({ key, operator, value }) => ({
    key,
    operator,
    value: typed(types.get(key), operator, value),
  }))
  if (list.length === 0) return ''
  return JSON.stringify({ where: list.length === 1 ? list[0] : { [join]: list } })
}

const NUMBERS = new Set(['int', 'float', 'timestamp', 'array[int]'])

/** Returns the typed text as a value of the field. Lists are separated by commas. The API checks it. */
function typed(type: string | undefined, operator: string, text: string): unknown {
  if (operator === 'in' || operator === '!in') return text.split(',').map((one) => typed(type, 'eq', one.trim()))
  if (type === 'bool') return text === 'true' || (text === 'false' ? false : text)
  const number = Number(text)
  return type !== undefined && NUMBERS.has(type) && text !== '' && Number.isSafeInteger(number) ? number : text
}
