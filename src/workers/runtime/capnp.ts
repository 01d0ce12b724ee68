/** Text that is written unchanged. */
export class Literal {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** A value of the text format of Cap'n Proto. Members that are undefined are left out. */
export type Capnp =
  string | number | boolean | Literal | readonly Capnp[] | { readonly [member: string]: Capnp | undefined }

export const VOID = new Literal('void')

/** Returns the contents of a file. The path is relative to the configuration file. */
export const embed = (path: string): Literal => new Literal(`embed ${quoted(path)}`)

/** Returns a value in the text format. */
export function capnpText(value: Capnp): string {
  if (typeof value === 'string') return quoted(value)
  if (value instanceof Literal) return value.text
  if (typeof value !== 'object') return String(value)
  if (isList(value)) return `[${value.map(capnpText).join(', ')}]`
  const members = Object.entries(value).flatMap(([name, of]) => (of === undefined ? [] : `${name} = ${capnpText(of)}`))
  return `(${members.join(', ')})`
}

const isList = (value: object): value is readonly Capnp[] => Array.isArray(value)

/** Control characters, quotes and backslashes are escaped, so user text cannot end the string. */
const quoted = (text: string): string =>
  `"${Buffer.from(text)
    .toString()
    .replaceAll(/["\\\p{Cc}]/gu, escaped)}"`

const escaped = (char: string): string => {
  const code = char.charCodeAt(0)
  return code > 0x7f ? char : `\\x${code.toString(16).padStart(2, '0')}`
}
