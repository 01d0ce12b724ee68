import type { Condition, Groups, Item } from '../builder/model.ts'
import { shapeOf } from './fields.ts'

/** Type of each field by its name, as the API lists them. */
export type Types = ReadonlyMap<string, string>

/** A node of `edged/expressions/parse`. */
export type Tree = { readonly text: string } & (
  | { readonly type: 'and' | 'or' | 'xor'; readonly items: readonly Tree[] }
  | { readonly type: 'not'; readonly item: Tree }
  | {
      readonly type: 'comparison'
      readonly field: string
      readonly key: string | null
      readonly quantifier: 'any' | 'all' | null
      readonly transform: string | null
      readonly operator: string
      readonly value: string | number | boolean | readonly string[] | null
    }
  | { readonly type: 'text' }
)

/** Returns the expression of a form. */
export const expressionOf = (groups: Groups, types: Types): string => {
  const isMany = groups.length > 1
  return groups
    .map((items) => {
      const text = items.map((item) => itemText(item, types)).join(' and ')
      return isMany && items.length > 1 ? `(${text})` : text
    })
    .join(' or ')
}

const itemText = (item: Item, types: Types): string => (item.kind === 'text' ? item.text : conditionText(item, types))

const FUNCTIONS = new Set(['starts_with', 'ends_with'])

/** Returns a condition as text of the rules language. */
export function conditionText(condition: Condition, types: Types): string {
  const { quantifier, operator: given, value } = condition
  const isNegated = given.startsWith('!')
  const operator = isNegated ? given.slice(1) : given
  const left = leftText(condition, types)
  const text = FUNCTIONS.has(operator)
    ? `${operator}(${left}, ${quoted(String(value ?? ''))})`
    : operator === 'is_true'
      ? left
      : `${left} ${operator === 'in_list' ? 'in' : operator.replace('_', ' ')} ${rightText(condition, operator, types)}`
  const whole = quantifier === null ? text : `${quantifier}(${text})`
  return isNegated ? `not ${whole}` : whole
}

function leftText({ field, key, quantifier, transform }: Condition, types: Types): string {
  const isMany = shapeOf(types.get(field) ?? '')?.isMany === true
  const path = `${field}${key === null ? '' : `[${quoted(key)}]`}`
  const whole = isMany ? `${path}[${quantifier === null ? '0' : '*'}]` : path
  return transform === null ? whole : `${transform}(${whole})`
}

function rightText({ field, transform, value }: Condition, operator: string, types: Types): string {
  const isText = transform !== 'len' && shapeOf(types.get(field) ?? '')?.scalar === 'Bytes'
  const one = (text: string): string => (isText ? quoted(text) : text)
  if (operator === 'in_list') return `$${String(value ?? '')}`
  if (operator === 'in')
    return `{${(Array.isArray(value) ? value : [])
      .filter((text: string) => isText || text.trim() !== '')
      .map(one)
      .join(' ')}}`
  if (operator === 'matches') return raw(String(value ?? ''))
  return one(String(value ?? ''))
}

const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`

/** A raw string: regular expressions stay readable. */
function raw(text: string): string {
  if (!text.includes('"')) return `r"${text}"`
  let marks = '#'
  while (text.includes(`"${marks}`)) marks += '#'
  return `r${marks}"${text}"${marks}`
}

/** Returns a tree as a form. Parts that the form would not write in the same way stay text. */
export function groupsOf(tree: Tree, types: Types): Groups {
  const alternatives = tree.type === 'or' ? tree.items : [tree]
  return alternatives.map((one) => (one.type === 'and' ? one.items : [one]).map((item) => itemOf(item, types)))
}

function itemOf(tree: Tree, types: Types): Item {
  const isNegated = tree.type === 'not'
  const node = isNegated ? tree.item : tree
  if (node.type === 'comparison') {
    const { field, key, quantifier, transform, operator, value } = node
    const shape = shapeOf(types.get(field) ?? '')
    const condition: Condition = {
      kind: 'condition',
      field,
      key,
      quantifier,
      transform,
      operator: isNegated ? `!${operator}` : operator,
      value: Array.isArray(value) ? value : value === null ? null : String(value),
    }
    // The tree leaves out indexes, so only what is written in the same way is the same.
    const plain = { ...condition, operator }
    if (shape && isKnown(condition, shape.scalar) && tokens(conditionText(plain, types)) === tokens(node.text))
      return condition
  }
  const isLoose = tree.type === 'and' || tree.type === 'or' || tree.type === 'xor'
  return { kind: 'text', text: isLoose ? `(${tree.text})` : tree.text }
}

const BY_SCALAR: Readonly<Record<string, RegExp>> = {
  Bytes: /^!?(contains|starts_with|ends_with|in|in_list|wildcard|strict_wildcard|matches)$|^(eq|ne)$/,
  Int: /^!?(in|in_list)$|^(eq|ne|gt|ge|lt|le)$/,
  Ip: /^!?(in|in_list)$|^(eq|ne)$/,
  Bool: /^!?is_true$/,
}

const isKnown = ({ operator, transform }: Condition, scalar: string): boolean =>
  BY_SCALAR[transform === 'len' ? 'Int' : scalar]?.test(operator) === true && (transform === null || scalar === 'Bytes')

const SAME: Readonly<Record<string, string>> = {
  '==': 'eq',
  '!=': 'ne',
  '<': 'lt',
  '<=': 'le',
  '>': 'gt',
  '>=': 'ge',
  '~': 'matches',
}
const TOKEN = /\s+|r(#*)"(?<raw>[^]*?)"\1|"(?<text>(?:[^"\\]|\\[^])*)"|[\w.:/$-]+|[=!<>]=|./gs

/** Returns the tokens of an expression as one text: spaces, other spellings of operators and of strings are the same. */
function tokens(text: string): string {
  return [...text.matchAll(TOKEN)]
    .flatMap((found) => {
      const [token] = found
      const { raw: rawText, text: quotedText } = found.groups ?? {}
      if (/^\s/.test(token)) return []
      if (rawText !== undefined) return [`"${rawText}`]
      if (quotedText !== undefined) return [`"${quotedText.replaceAll(/\\(["\\])/g, '$1')}`]
      return [SAME[token] ?? token]
    })
    .join('\n')
}
