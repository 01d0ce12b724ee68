import { BUDGET_EXCEEDED } from '../../../src/expr/language/budget.js'
import { NamedGroups, RegexSyntaxError } from '../../../src/expr/regex/groups.js'
import { CR } from '../../../src/core/bytes.js'
import { InvalidInput, messageOf } from '../../../src/core/errors.js'
import { UnfitRecord } from '../record-check.js'
import type { LineFormat } from './line-format.js'
import { memberOf, writeNull, writeText, type TypeOf } from './members.js'

/** Steps of a search in one line, which take at most about 10 ms. */
const LINE_STEPS = 2_000_000
const CLOSE = Buffer.from('}')

class LineBudget {
  #left = LINE_STEPS

  spend(steps: number): void {
    this.#left -= steps
    // The error is one object for all searches.
    if (this.#left < 0) throw BUDGET_EXCEEDED
  }
}

function groupsOf(pattern: string): NamedGroups {
  try {
    const groups = new NamedGroups(Buffer.from(pattern).toString('latin1'))
    if (groups.names.length > 0) return groups
  } catch (error) {
    if (!(error instanceof RegexSyntaxError)) throw error
    throw wrong(`is not a regular expression: ${messageOf(error)}`)
  }
  throw wrong('has no named groups; name what a record has, as in (?<status>[0-9]+)')
}

const wrong = (message: string): InvalidInput => new InvalidInput([{ pointer: '/regex', message }])

/**
 * Returns the format of lines in which a pattern is found. A record has a text for each named group, null for one that
 * did not take part. Throws InvalidInput if the pattern is not valid.
 */
export function regexLines(pattern: string, types: TypeOf): LineFormat {
  const groups = groupsOf(pattern)
  const members = groups.names.map((name, index) => memberOf(name, types, index === 0))
  const read = (text: string) => {
    try {
      return groups.read(text, new LineBudget())
    } catch (error) {
      if (error !== BUDGET_EXCEEDED) throw error
      throw new UnfitRecord(
        'the pattern takes too many steps for the line; begin it with ^ and use classes such as [^ ]+ instead of .*',
      )
    }
  }
  return {
    write(bytes, start, given, output) {
      const end = given > start && bytes[given - 1] === CR ? given - 1 : given
      const line = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start)
      const found = read(line.toString('latin1'))
      if (found === undefined) throw new UnfitRecord('the line does not match the pattern')
      for (const [index, member] of members.entries()) {
        const text = found[index]
        if (text === undefined) writeNull(output, member)
        else writeText(output, member, fromUtf8(text))
      }
      output.append(CLOSE)
    },
  }
}

/** Returns the text of a byte string. */
const fromUtf8 = (bytes: string): string =>
  /[\x80-\xff]/.test(bytes) ? Buffer.from(bytes, 'latin1').toString() : bytes
