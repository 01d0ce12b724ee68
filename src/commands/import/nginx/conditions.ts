import { ALWAYS, isClient, isOneOf, noneOf, part, patternLiteral, type Condition } from '../site/condition.js'
import type { Captures } from '../site/template.js'
import { expressionOf } from './variables.js'

/** The condition of an `if`, with the groups of its pattern. */
export interface IfCondition {
  readonly when: Condition
  readonly captures?: Captures
}

/** Returns the condition of an `if`, or why the rules language does not have it. */
export function ifCondition(args: readonly string[]): IfCondition | string {
  const words = withoutParentheses(args)
  const [left = '', operator, right = ''] = words
  if (left.startsWith('-') || left.startsWith('!-')) return 'edged does not look for files before it chooses an origin'
  const [, name = ''] = /^\$\{?(\w+)\}?$/.exec(left) ?? []
  if (name === '') return 'the condition does not begin with a variable'
  if (name === 'scheme' && (operator === '=' || operator === '!=')) {
    const secure = (right === 'https') === (operator === '=')
    return { when: secure ? part('ssl') : noneOf(part('ssl')) }
  }
  if (name === 'remote_addr' && (operator === '=' || operator === '!=')) {
    const is = isClient([right])
    return { when: operator === '=' ? is : noneOf(is) }
  }
  const source = expressionOf(name)
  if (source === undefined) return `the rules language has no $${name}`
  const indexed = source.endsWith('[0]')
  const present = part(indexed ? `len(${source.replace(/\[0\]$/, '')}) gt 0` : `${source} ne ""`)
  if (operator === undefined) return { when: present }
  if (operator === '=' || operator === '!=') {
    if (right.includes('$')) return 'it compares two variables'
    const is = right === '' ? noneOf(present) : isOneOf(source, [right])
    return { when: operator === '=' ? is : noneOf(is) }
  }
  const [, negated, insensitive] = /^(!?)~(\*?)$/.exec(operator) ?? []
  if (negated === undefined) return `unknown operator ${operator}`
  const pattern = `${insensitive === '*' ? '(?i)' : ''}${right}`
  const is = part(`${source} matches ${patternLiteral(pattern)}`)
  return negated === '!' ? { when: noneOf(is) } : { when: is, captures: { source, pattern } }
}

/** Removes the parentheses around the words of a condition. */
function withoutParentheses(args: readonly string[]): string[] {
  const words = [...args]
  words[0] = (words[0] ?? '').replace(/^\(/, '')
  words[words.length - 1] = (words.at(-1) ?? '').replace(/\)$/, '')
  return words.filter((word, index) => word !== '' || (index === 2 && words.length === 3))
}

/** Returns the condition that a client is denied by `allow` and `deny`, of which the first that fits counts. */
export function deniedClients(
  rules: readonly { readonly name: string; readonly args: readonly string[] }[],
): Condition | undefined {
  const parts: string[] = []
  const allowed: string[] = []
  for (const { name, args } of rules) {
    const [who = ''] = args
    const everyone = who === 'all'
    if (name === 'allow') {
      if (everyone) break
      allowed.push(who)
      continue
    }
    const except = allowed.length > 0 ? `not ip.src in {${allowed.join(' ')}}` : undefined
    if (everyone) {
      if (except === undefined) return ALWAYS
      parts.push(except)
      break
    }
    const is = isClient([who]).text
    parts.push(except === undefined ? is : `(${is} and ${except})`)
  }
  if (parts.length === 0) return undefined
  return parts.length === 1 ? { text: parts[0]! } : { text: parts.join(' or '), joined: 'or' }
}
