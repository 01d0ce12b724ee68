import type { Test } from './ast.js'
import { finder } from './language/find-text.js'
import type { Lists } from './lists.js'
import { bytesSet, intSet, ipSet, type Predicate } from './sets.js'
import type { Value } from './language/value.js'

/** Returns a comparison as a function of the value on its left. */
export function compileTest(test: Test, lists: Lists): Predicate {
  switch (test.op) {
    case 'true':
      return (value) => value === true
    case 'in':
      if (test.type === 'Bytes') return bytesSet(test.values)
      return test.type === 'Int' ? intSet(test.ranges) : ipSet(test.ranges)
    case 'list': {
      const list = lists.get(test.list, test.type)
      return list === undefined ? () => false : (value) => list.has(value)
    }
    case '&':
      return bitTest(test.value)
    case 'contains': {
      const find = finder(test.value)
      return (value, budget) => find(value as string, 0, budget) !== -1
    }
    case 'matches': {
      const { regex } = test
      regex.build()
      return (value, budget) => regex.test(value as string, budget)
    }
    case 'wildcard': {
      const { wildcard } = test
      return (value, budget) => wildcard.test(value as string, budget)
    }
    default:
      return orderTest(test)
  }
}

/**
 * Numbers and byte strings have JavaScript's own order, and so have addresses of one family. Addresses of different
 * families are not equal and not ordered. A literal beyond 2^53 is rounded, which makes no difference for any field
 * value.
 */
function orderTest(test: Test & { op: '==' | '!=' | '<' | '<=' | '>' | '>=' }): Predicate {
  const literal = typeof test.value === 'bigint' ? Number(test.value) : test.value
  const predicate = {
    '==': (value: Value) => value === literal,
    '!=': (value: Value) => value !== literal,
    '<': (value: Value) => value < literal,
    '<=': (value: Value) => value <= literal,
    '>': (value: Value) => value > literal,
    '>=': (value: Value) => value >= literal,
  }[test.op]
  if (test.type !== 'Ip' || test.op === '==' || test.op === '!=') return predicate
  return (value) => typeof value === typeof literal && predicate(value)
}

/** Returns whether a number and the literal have a bit in common. */
function bitTest(bits: bigint): Predicate {
  if (bits >= 0n && bits < 2n ** 32n) {
    const low = Number(bits) | 0
    return (value) => ((value as number) & low) !== 0
  }
  return (value) => (BigInt.asIntN(64, BigInt(value as number)) & bits) !== 0n
}
