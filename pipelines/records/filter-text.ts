import { InvalidInput } from '../../src/core/errors.js'

/** A number as it was written, with all its digits. */
export class NumberText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/**
 * Parses a filter. Numbers of a filter in JSON text become {@link NumberText}. Throws InvalidInput for text that is not
 * JSON.
 */
export function readFilter(filter: unknown): unknown {
  if (typeof filter !== 'string') return filter
  try {
    JSON.parse(filter)
  } catch {
    throw new InvalidInput([
      {
        pointer: '',
        message: 'is not JSON text, as in {"where":{"key":"EdgeResponseStatus","operator":"geq","value":500}}',
      },
    ])
  }
  const tokens = filter.match(/"(?:[^"\\]|\\.)*"|[[\]{}]|[^\s,:"[\]{}]+/g) ?? []
  let at = 0
  const next = () => tokens[at++] ?? ''
  return value(next())

  /** The text is known to be well-formed, so its tokens are enough to find the parts. */
  function value(token: string): unknown {
    if (token === '{') {
      const members: [string, unknown][] = []
      for (let key = next(); key !== '}'; key = next()) members.push([JSON.parse(key) as string, value(next())])
      return Object.fromEntries(members)
    }
    if (token === '[') {
      const items: unknown[] = []
      for (let item = next(); item !== ']'; item = next()) items.push(value(item))
      return items
    }
    return /^[-\d]/.test(token) ? new NumberText(token) : (JSON.parse(token) as unknown)
  }
}
