/** Lines that are not JSON, as records. */
import { CR } from '../../../src/core/bytes.js'
import type { Dataset, FieldType } from '../fields/dataset.js'
import { accessLog } from './access-log.js'
import type { FormatChoice, LineFormat } from './line-format.js'
import { logfmt } from './logfmt.js'
import { memberOf, writeBytes, type TypeOf } from './members.js'
import { regexLines } from './regex.js'

export { LINE_FORMATS, type FormatChoice, type LineFormat } from './line-format.js'

const CLOSE = Buffer.from('}')

/**
 * Returns the format of lines. Undefined for JSON, whose lines are records as they are. Values get the types that the
 * dataset or `schema` declares. Throws InvalidInput with the pointer `/regex`.
 */
export function lineFormat(
  format: FormatChoice | undefined,
  dataset: Dataset,
  schema: Readonly<Record<string, FieldType>> = {},
): LineFormat | undefined {
  if (format === undefined || format === 'json') return undefined
  const types = typesOf(dataset, schema)
  if (typeof format === 'object') return regexLines(format.regex, types)
  if (format === 'logfmt') return logfmt(types)
  return format === 'text' ? text(types) : accessLog(format, types)
}

function typesOf(dataset: Dataset, schema: Readonly<Record<string, FieldType>>): TypeOf {
  const types = new Map<string, FieldType>(Object.entries({ ...dataset.fields, ...schema }))
  // A pointer with one token is a name, too.
  for (const [name, type] of Object.entries(schema))
    if (name.startsWith('/') && !name.includes('/', 1)) types.set(unescapedToken(name.slice(1)), type)
  return (name) => types.get(name)
}

const unescapedToken = (token: string): string => token.replaceAll('~1', '/').replaceAll('~0', '~')

/** A record is the whole line, as `message`. */
function text(types: TypeOf): LineFormat {
  const member = memberOf('message', types, true)
  return {
    write(bytes, start, end, output) {
      writeBytes(output, member, bytes, start, end > start && bytes[end - 1] === CR ? end - 1 : end)
      output.append(CLOSE)
    },
  }
}
