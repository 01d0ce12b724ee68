import type { RawHeaders } from './answer.js'

/** What the origin sent is no answer that may be passed on. The message says why, for the log. */
export class BadAnswer extends Error {
  override readonly name = 'BadAnswer'
}

// A parser has seen these fields, but what it lets through would end up in the client's bytes.
// oxlint-disable-next-line no-control-regex
const UNSAFE = /[\0-\x08\x0a-\x1f\x7f]/

/**
 * The fields of an origin's answer as the client gets them: without hop-by-hop fields, without what the proxy says
 * itself. Throws {@link BadAnswer} where the answer's length is in doubt or a value could split it.
 */
export function answerFields(status: number, raw: readonly Buffer[]): string[] {
  const fields: string[] = []
  let connection = ''
  let values = ''
  let length: string | undefined
  let coded = false
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i]!.toString('latin1')
    const value = raw[i + 1]!.toString('latin1')
    values += value
    switch (dropped(name)) {
      case 'no':
        break
      case 'length':
        if (length !== undefined && length !== value) throw new BadAnswer('the origin sent two lengths')
        if (length !== undefined || status === 204) continue
        length = value
        break
      case 'connection':
        connection += `,${value.toLowerCase()}`
        continue
      case 'coding':
        if (value.toLowerCase() !== 'chunked') throw new BadAnswer('the origin used a transfer coding besides chunked')
        coded = true
        continue
      case 'yes':
        continue
    }
    fields.push(name, value)
  }
  // All at once, because one test of a long text costs less than many tests of short ones.
  if (UNSAFE.test(values)) throw new BadAnswer('a field of the origin has a control character')
  if (coded && length !== undefined) throw new BadAnswer('the origin sent a length and a transfer coding')
  return COMMON.has(connection) ? fields : withoutNamed(fields, connection)
}

/** Values of Connection that name no field. */
const COMMON = new Set(['', ',keep-alive', ',close'])

/** What becomes of a field, by its name. Most names are decided by their length alone. */
function dropped(name: string): 'no' | 'yes' | 'connection' | 'coding' | 'length' {
  switch (name.length) {
    case 2:
      return name.toLowerCase() === 'te' ? 'yes' : 'no'
    case 6:
      return name.toLowerCase() === 'cf-ray' ? 'yes' : 'no'
    case 7: {
      const lower = name.toLowerCase()
      return lower === 'trailer' || lower === 'upgrade' ? 'yes' : 'no'
    }
    case 10: {
      const lower = name.toLowerCase()
      return lower === 'connection' ? 'connection' : lower === 'keep-alive' ? 'yes' : 'no'
    }
    case 14:
      return name.toLowerCase() === 'content-length' ? 'length' : 'no'
    case 16:
      return name.toLowerCase() === 'proxy-connection' ? 'yes' : 'no'
    case 17:
      return name.toLowerCase() === 'transfer-encoding' ? 'coding' : 'no'
    case 18:
      return name.toLowerCase() === 'proxy-authenticate' ? 'yes' : 'no'
    default:
      return 'no'
  }
}

function withoutNamed(fields: string[], connection: string): string[] {
  const named = new Set(connection.split(',').map((name) => name.trim()))
  named.delete('content-length')
  if (fields.every((name, i) => i % 2 === 1 || !named.has(name.toLowerCase()))) return fields
  return fields.filter((_, i) => !named.has(fields[i - (i % 2)]!.toLowerCase()))
}

/** The fields of an answer as text, for a connection that is written by hand. */
export const fieldLines = (fields: RawHeaders): string =>
  fields.reduce((text, part, i) => text + part + (i % 2 === 0 ? ': ' : '\r\n'), '')
