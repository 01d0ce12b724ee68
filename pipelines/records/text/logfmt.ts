/** Lines of logfmt: `level=info msg="a \"b\"" retry`. */
import { QUOTE, SPACE } from '../../../src/core/bytes.js'
import { UnfitRecord } from '../record-check.js'
import { lineEnd } from './access-log.js'
import type { LineFormat } from './line-format.js'
import { memberOf, textOf, writeText, type Member, type TypeOf } from './members.js'

const EQUALS = 0x3d
const BACKSLASH = 0x5c
/** Keys that are remembered. A writer that invents keys must not fill the memory. */
const MAX_KEYS = 1024
const CLOSE = Buffer.from('}')

/**
 * Returns the format of logfmt. Of members with the same key the last one counts. A key without a value is "true". A
 * line without any `key=value` does not match.
 */
export function logfmt(types: TypeOf): LineFormat {
  const keys = [new Map<string, Member>(), new Map<string, Member>()] as const
  const member = (name: string, isFirst: boolean): Member => {
    const known = keys[isFirst ? 0 : 1]
    const found = known.get(name) ?? memberOf(name, types, isFirst)
    if (known.size < MAX_KEYS) known.set(name, found)
    return found
  }
  return {
    write(bytes, start, end, output) {
      const members = read(textOf(bytes, start, lineEnd(bytes, start, end), false))
      let isFirst = true
      for (const [name, value] of members) {
        writeText(output, member(name, isFirst), value)
        isFirst = false
      }
      output.append(CLOSE)
    },
  }
}

function read(text: string): Map<string, string> {
  const members = new Map<string, string>()
  const { length } = text
  let hasPair = false
  let at = 0
  for (;;) {
    while (at < length && text.charCodeAt(at) <= SPACE) at++
    if (at === length) break
    const from = at
    while (at < length && isInKey(text.charCodeAt(at))) at++
    if (at === from) throw unfit(at, 'a key is expected')
    const key = text.slice(from, at)
    const code = text.charCodeAt(at)
    if (code === QUOTE) throw unfit(at, 'a quote is not expected in a key')
    if (code !== EQUALS) {
      members.set(key, 'true')
      continue
    }
    hasPair = true
    at++
    if (text.charCodeAt(at) === QUOTE) {
      const close = closingQuote(text, at)
      members.set(key, unquoted(text.slice(at, close + 1), at))
      at = close + 1
      if (at < length && text.charCodeAt(at) > SPACE) throw unfit(at, 'a blank is expected after a quoted value')
    } else {
      const begin = at
      while (at < length && text.charCodeAt(at) > SPACE) at++
      members.set(key, text.slice(begin, at))
    }
  }
  if (!hasPair) throw new UnfitRecord('the line is not logfmt: it has no key=value')
  return members
}

const isInKey = (code: number): boolean => code > SPACE && code !== EQUALS && code !== QUOTE

const unfit = (at: number, message: string): UnfitRecord =>
  new UnfitRecord(`the line is not logfmt: ${message} at character ${at}`)

function closingQuote(text: string, open: number): number {
  for (let at = open + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return at
    if (code === BACKSLASH) at++
  }
  throw unfit(open, 'a closing quote is missing for the one')
}

/** Returns the text of a quoted value, which has the escapes of JSON. */
function unquoted(quoted: string, at: number): string {
  if (!quoted.includes('\\')) return quoted.slice(1, -1)
  try {
    return JSON.parse(quoted.replaceAll('\t', '\\t')) as string
  } catch {
    throw unfit(at, 'an unknown escape is in the value')
  }
}
