import { trimmed } from '../../core/bytes.js'
import { toBytes, type Context, type Evaluate, type Value } from '../../expr/index.js'

/** Returns a text for a request, or undefined if it has none. */
export type TextOf = (context: Context) => string | undefined

// oxlint-disable-next-line no-control-regex
const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/

/** Returns the result of an expression as text. Undefined if the result is missing or not a single value. */
function textOf(value: Value | undefined): string | undefined {
  switch (typeof value) {
    case 'string':
      return value
    case 'number':
    case 'boolean':
      return String(value)
    default:
      return undefined
  }
}

/** The parameter that contains a text: `value` literally, or `expression`, evaluated for each request. */
export interface Given {
  readonly value?: string
  readonly expression?: string
}

/** Prepares a text. It is a byte string. Throws if the expression is broken. */
export function textFrom({ value, expression }: Given, compile: (text: string) => Evaluate): TextOf {
  if (expression === undefined) {
    const fixed = value === undefined ? undefined : toBytes(value)
    return () => fixed
  }
  const evaluate = compile(expression)
  return (context) => textOf(evaluate(context))
}

/**
 * Returns a text as the value of a header field; "" if it cannot be one (RFC 9110, 5.5). A client that causes such a value
 * must not prevent the other changes of the rule.
 */
export const headerValue = (text: string): string => (CONTROL.test(text) ? '' : trimmed(text, 0, text.length))

const escaped = (char: string): string => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`

/** Returns a byte string as a path, with a leading `/` and invalid characters escaped. */
export const asPath = (text: string): string =>
  (text.startsWith('/') ? text : `/${text}`).replaceAll(/[^!-~]|[?#]/g, escaped)

/** Returns a byte string as a query, without the `?`. */
export const asQuery = (text: string): string => text.replace(/^\?/, '').replaceAll(/[^!-~]|#/g, escaped)

/** Returns a byte string as the URL of a `location`. */
export const asLocation = (text: string): string => text.replaceAll(/[^!-~]/g, escaped)
