/** Checks of the rows of plug-ins, which may come from code without types. */
import type { GivenRow } from './tables.js'

type Kind = 'string' | 'function' | 'object' | 'array'

const kindOf = (value: unknown): string =>
  Array.isArray(value) ? 'array' : value === null || value === undefined ? 'nothing' : typeof value

/** Throws a TypeError unless each member has its kind. A name that ends in `?` may be absent. */
export function assertMembers(row: GivenRow, members: Readonly<Record<string, Kind>>): void {
  for (const [written, kind] of Object.entries(members)) {
    const name = written.replace(/\?$/, '')
    const found = kindOf(row[name])
    if (found === kind || (found === 'nothing' && written !== name)) continue
    throw new TypeError(`${name} must be of type ${kind}, found ${found}`)
  }
}

/** Throws a TypeError unless a name has the given form. */
export function assertName(member: string, name: unknown, form: RegExp, example: string): void {
  if (typeof name === 'string' && form.test(name)) return
  throw new TypeError(`${member} must be a name such as ${example}, found ${JSON.stringify(name) ?? 'nothing'}`)
}
