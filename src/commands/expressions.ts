import {
  check,
  compile,
  compileValue,
  contextOf,
  ExprError,
  formatIp,
  parse,
  parseIp,
  parseValue,
  REQUEST_GETTERS,
  SCHEME,
  toBytes,
  toText,
  type Context,
  type RequestView,
  type Type,
  type Value,
  UNLIMITED,
} from '../expr/index.js'
import { adviceFor } from './expr-advice.js'

/** What a command prints, and how it ends. */
export interface Outcome {
  /** For standard output when the code is 0, else for standard error. */
  readonly output: string
  readonly exitCode: number
}

/** `edged expr check`: whether a filter expression is one, with the error and carets under its place, and hints. */
export function checkExpression(text: string, options: { phase?: string; json?: boolean } = {}): Outcome {
  const { error, lints } = check(text, options.phase === undefined ? {} : { phase: options.phase })
  if (options.json === true) {
    const details = error && {
      class: error.class,
      line: error.line,
      column: error.column,
      length: error.length,
      reason: error.reason,
      message: error.message,
    }
    const output = `${JSON.stringify({ valid: error === undefined, error: details ?? null, hints: lints }, null, 2)}\n`
    return { output, exitCode: error === undefined ? 0 : 2 }
  }
  if (error !== undefined) {
    const advice = adviceFor(text, error)
    return { output: [error.message, ...(advice === undefined ? [] : [advice]), ''].join('\n'), exitCode: 2 }
  }
  return { output: ['ok', ...lints.map(({ message }) => `hint: ${message}`), ''].join('\n'), exitCode: 0 }
}

/** `edged expr eval`: what a filter or a value expression gives for a request, as JSON; a missing value is null. */
export function evaluateExpression(text: string, request: unknown): Outcome {
  try {
    const context = contextFor(request)
    const value = evaluated(text, context)
    return { output: `${JSON.stringify(value)}\n`, exitCode: 0 }
  } catch (error) {
    if (error instanceof ExprError)
      return { output: [error.message, adviceFor(text, error) ?? '', ''].join('\n').replace('\n\n', '\n'), exitCode: 2 }
    if (error instanceof TypeError) return { output: `${error.message}\n`, exitCode: 2 }
    throw error
  }
}

function evaluated(text: string, context: Context): unknown {
  try {
    return compile(parse(text))(context)
  } catch (error) {
    if (!(error instanceof ExprError)) throw error
    let value
    try {
      value = parseValue(text)
    } catch {
      throw error
    }
    return toJson(compileValue(value)(context), value.type)
  }
}

function toJson(value: Value | undefined, type: Type): unknown {
  if (value === undefined) return null
  if (type.kind === 'Bytes') return toText(value as string)
  if (type.kind === 'Ip') return formatIp(value as string | number)
  if (type.kind === 'Array') return (value as Value[]).map((item) => toJson(item, type.of as Type))
  if (type.kind !== 'Map') return value
  const entries = [...(value as ReadonlyMap<string, Value>)]
  return Object.fromEntries(entries.map(([key, item]) => [toText(key), toJson(item, type.of as Type)]))
}

/** Members of a request; all others are names of fields. */
const REQUEST_MEMBERS = ['method', 'url', 'version', 'headers', 'ip', 'body'] as const
type Member = (typeof REQUEST_MEMBERS)[number]

/**
 * The context of a request given as JSON: `{"method", "url", "version", "headers", "ip", "body"}`, all optional, and
 * any field by its name. Throws a TypeError that says what is wrong.
 */
function contextFor(request: unknown): Context {
  if (typeof request !== 'object' || request === null || Array.isArray(request)) {
    throw new TypeError('the request must be a JSON object')
  }
  const values = new Map<string, Value>()
  const members: Partial<Record<Member, unknown>> = {}
  for (const [name, given] of Object.entries(request)) {
    if (REQUEST_MEMBERS.includes(name as Member)) {
      members[name as Member] = given
      continue
    }
    const field = SCHEME.field(name)
    if (field === undefined) {
      throw new TypeError(`${name} is neither a field nor one of ${REQUEST_MEMBERS.join(', ')}`)
    }
    values.set(name, fromJson(given, field.type, name))
  }
  if (Object.keys(members).length > 0) {
    const view = viewOf(members)
    for (const [name, getter] of Object.entries(REQUEST_GETTERS)) {
      const value = getter(view, UNLIMITED)
      if (value !== undefined && !values.has(name)) values.set(name, value)
    }
  }
  return contextOf(SCHEME, values)
}

function text(value: unknown, name: string, otherwise: string): string {
  if (value === undefined) return otherwise
  if (typeof value !== 'string') throw new TypeError(`${name} must be a text`)
  return value
}

function viewOf(members: Partial<Record<Member, unknown>>): RequestView {
  const given = text(members.url, 'url', 'http://localhost/')
  const parts = /^(https?):\/\/([^/?#]*)([^#]*)/i.exec(given)
  if (parts === null) throw new TypeError(`url must begin with http:// or https://, found ${given}`)
  const [, scheme = '', host = '', rest = ''] = parts
  const target = toBytes(rest.startsWith('/') ? rest : `/${rest}`)
  const headers = headersOf(members.headers)
  const ip = members.ip === undefined ? undefined : parseIp(text(members.ip, 'ip', ''))
  if (members.ip !== undefined && ip === undefined) throw new TypeError('ip must be an address')
  const hostHeader = headers.findIndex((name, at) => at % 2 === 0 && name.toLowerCase() === 'host')
  const body = members.body === undefined ? undefined : toBytes(text(members.body, 'body', ''))
  return {
    method: toBytes(text(members.method, 'method', 'GET')),
    version: toBytes(text(members.version, 'version', 'HTTP/1.1')),
    secure: scheme.toLowerCase() === 'https',
    host: hostHeader === -1 ? toBytes(host) : (headers[hostHeader + 1] as string),
    target,
    rawTarget: target,
    headers,
    clientIp: ip,
    receivedAt: Date.now(),
    body: body === undefined ? undefined : { bytes: body, size: body.length },
  }
}

/** `{"name": "value"}`, `{"name": ["value", ...]}` or `[["name", "value"], ...]` as a flat list. */
function headersOf(given: unknown): string[] {
  if (given === undefined) return []
  if (typeof given !== 'object' || given === null) throw new TypeError('headers must be an object or an array of pairs')
  const pairs = Array.isArray(given) ? (given as unknown[]) : Object.entries(given)
  return pairs.flatMap((pair) => {
    const [name, values] = Array.isArray(pair) ? (pair as unknown[]) : []
    const list = Array.isArray(values) ? (values as unknown[]) : [values]
    if (typeof name !== 'string' || list.some((value) => typeof value !== 'string')) {
      throw new TypeError('names and values of headers must be texts')
    }
    return (list as string[]).flatMap((value) => [toBytes(name), toBytes(value)])
  })
}

function fromJson(given: unknown, type: Type, name: string): Value {
  const wrong = () => new TypeError(`${name} must be of type ${type.name}`)
  switch (type.kind) {
    case 'Bool':
      if (typeof given === 'boolean') return given
      throw wrong()
    case 'Int':
      if (typeof given === 'number' && Number.isInteger(given)) return given
      throw wrong()
    case 'Bytes':
      if (typeof given === 'string') return toBytes(given)
      throw wrong()
    case 'Ip': {
      const ip = typeof given === 'string' ? parseIp(given) : undefined
      if (ip !== undefined) return ip
      throw wrong()
    }
    case 'Array':
      if (Array.isArray(given)) return given.map((item) => fromJson(item, type.of as Type, name))
      throw wrong()
    case 'Map': {
      if (typeof given !== 'object' || given === null || Array.isArray(given)) throw wrong()
      return new Map(Object.entries(given).map(([key, item]) => [toBytes(key), fromJson(item, type.of as Type, name)]))
    }
  }
}
