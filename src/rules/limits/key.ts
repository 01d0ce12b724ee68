import { createHash } from 'node:crypto'
import {
  compileValue,
  FIELDS,
  FUNCTIONS,
  parseValue,
  Scheme,
  SCHEME,
  type Context,
  type Lists,
  type Uses,
  type Value,
  type ValueExpression,
} from '../../expr/index.js'
import type { PhaseName } from '../phases.js'

/** Maximum length of a key. A longer one is replaced by its SHA-256. */
const MAX_CHUNK_BYTES = 64

/** Cost of encoding and hashing a value, in steps of the budget per character. */
const KEY_STEPS = 2
/** The same for arrays and maps, which have many small members. */
const LIST_STEPS = 16

/**
 * Characteristics that are not fields of expressions. There is one site, so its id does not distinguish requests.
 * Clients behind one address differ only in values that they can change at will, so they count as one.
 */
const STANDS_FOR: Readonly<Record<string, string | undefined>> = {
  'cf.colo.id': undefined,
  'cf.unique_visitor_id': 'ip.src',
}

/**
 * The names for characteristics. Fields have the slots of the documented language, so that its contexts work for both.
 * Fields that only characteristics may name are missing within calls.
 */
export const KEY_SCHEME = new Scheme(
  [...SCHEME.fields, ...FIELDS.filter(({ group }) => group === 'ratelimit_only')],
  FUNCTIONS,
)

/** Returns the key that a request is counted under. */
export type KeyOf = (context: Context) => string

/** Compiles characteristics, which are fields, lookups in fields, and calls. Throws an ExprError for anything else. */
export function compileKey(
  characteristics: readonly string[],
  { phase, lists }: { phase: PhaseName; lists: Lists },
): { readonly keyOf: KeyOf; readonly uses: readonly Uses[] } {
  const parsed: ValueExpression[] = []
  for (const characteristic of characteristics) {
    const name = characteristic.trim()
    const text = Object.hasOwn(STANDS_FOR, name) ? STANDS_FOR[name] : name
    if (text !== undefined) parsed.push(parseValue(text, { phase, scheme: KEY_SCHEME }))
  }
  const values = parsed.map((value) => compileValue(value, lists))
  const keyOf: KeyOf = (context) => {
    let key = ''
    for (const value of values) {
      const found = value(context)
      const text = part(found)
      context.spend(text.length * (typeof found === 'object' ? LIST_STEPS : KEY_STEPS))
      key += text
    }
    return key.length <= MAX_CHUNK_BYTES ? key : `#${createHash('sha256').update(key, 'latin1').digest('base64url')}`
  }
  return { keyOf, uses: parsed.map(({ uses }) => uses) }
}

/**
 * Encodes one value so that no two sequences of values have the same text. Each part contains its type and length. No
 * part begins with `#`. A missing value differs from the empty text.
 */
function part(value: Value | undefined): string {
  switch (typeof value) {
    case 'undefined':
      return '-'
    case 'string':
      return `s${value.length}:${value}`
    case 'number':
      return `n${value};`
    case 'boolean':
      return value ? 't' : 'f'
    case 'object':
      return 'length' in value
        ? `a${value.length}:${value.map(part).join('')}`
        : `m${value.size}:${[...value].map(([name, of]) => part(name) + part(of)).join('')}`
  }
}
