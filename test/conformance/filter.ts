import { readFileSync } from 'node:fs'
import { acceptedLanguages, mediaType, pathExtension } from '../../src/expr/derived.js'
import {
  arrayOf,
  bytesList,
  compile,
  compileValue,
  contextOf,
  ExprError,
  formatIp,
  FUNCTIONS,
  intList,
  ipList,
  mapOf,
  parse,
  parseIp,
  parseType,
  parseValue,
  Scheme,
  SCHEME,
  toBytes,
  type Context,
  type FunctionDef,
  type Lists,
  type Type,
  type Value,
  UNLIMITED,
} from '../../src/expr/index.js'
import { lower } from '../../src/expr/functions/text.js'
import type { Case, Suite } from './suite.js'

type TypeJson = string | { Array: TypeJson } | { Map: TypeJson }
type ValueJson = boolean | number | string | null | ValueJson[] | { [key: string]: ValueJson }
type ContextJson = Record<string, ValueJson>
interface ErrorJson {
  kind: string
  line: number
  column: number
  length: number
}
interface CaseJson {
  id?: string
  scheme: 'wf' | 'cf'
  mode?: 'filter' | 'value'
  expr: string
  contexts?: ContextJson[]
  expect?: string | ValueJson[]
  error?: ErrorJson
  type?: TypeJson
}
interface Document {
  schemes: { wf: { fields: Record<string, TypeJson> } }
  contexts: Record<'wf' | 'cf', ContextJson[]>
  lists: Record<'wf' | 'cf', Partial<Record<string, Record<string, (string | number)[]>>>>
  cases: CaseJson[]
  edge_cases: CaseJson[]
  must_parse: { expr: string; kind: 'filter' | 'value'; type?: TypeJson }[]
  must_fail: { expr: string; error: ErrorJson }[]
  function_cases: { expr: string; context: ContextJson; expect: ValueJson }[]
  field_cases: { field: string; from: Record<string, string>; expect: ValueJson }[]
}

function typeOf(json: TypeJson): Type {
  if (typeof json === 'string') return parseType(json)
  return 'Array' in json ? arrayOf(typeOf(json.Array)) : mapOf(typeOf(json.Map))
}

/** Functions that the case files use and the language does not have. */
const EXTRA: FunctionDef[] = [
  { ...lower, name: 'echo', prepare: () => (text) => text },
  {
    ...lower,
    name: 'concat_fields',
    params: [...lower.params, ...lower.params],
    prepare:
      () =>
      (...texts) =>
        (texts as string[]).join(''),
  },
  {
    ...lower,
    name: 'concat_lit',
    params: [...lower.params, { ...(lower.params[0] as FunctionDef['params'][number]), kind: 'literal' }],
    prepare:
      () =>
      (...texts) =>
        (texts as string[]).join(''),
  },
]

/** A value of the files in the form of the product; maps in the order of their keys, as the reference walks them. */
function valueOf(json: ValueJson, type: Type): Value {
  if (type.kind === 'Bytes') {
    return typeof json === 'string' ? toBytes(json) : String.fromCharCode(...(json as number[]))
  }
  if (type.kind === 'Ip') return parseIp(json as string) as Value
  if (type.kind === 'Array') return (json as ValueJson[]).map((item) => valueOf(item, type.of as Type))
  if (type.kind === 'Map') {
    const entries = Object.entries(json as Record<string, ValueJson>)
    const pairs = entries.map(([key, item]) => [toBytes(key), valueOf(item, type.of as Type)] as const)
    return new Map(pairs.sort(([a], [b]) => (a < b ? -1 : 1)))
  }
  return json as boolean | number
}

function contextFor(scheme: Scheme, json: ContextJson): Context {
  const values = new Map<string, Value>()
  for (const [name, value] of Object.entries(json)) {
    const field = scheme.field(name)
    if (field === undefined) throw new Error(`the file names an unknown field ${name}`)
    if (field.constant === undefined) values.set(name, valueOf(value, field.type))
  }
  return contextOf(scheme, values)
}

/** A value of the product in the form of the files, to compare with what `expect` reads to. */
function comparable(value: Value | undefined, type: Type): unknown {
  if (value === undefined) return { $nil: true }
  if (type.kind === 'Array') return (value as Value[]).map((item) => comparable(item, type.of as Type))
  if (type.kind === 'Map') {
    return Object.fromEntries(
      [...(value as Map<string, Value>)].map(([key, item]) => [key, comparable(item, type.of as Type)]),
    )
  }
  return type.kind === 'Ip' ? formatIp(value as string | number) : value
}

function expected(json: ValueJson, type: Type): unknown {
  if (typeof json === 'object' && json !== null && '$nil' in json) return json
  return comparable(valueOf(json, type), type)
}

function outcome(read: () => unknown): unknown {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof ExprError)) throw error
    return { kind: error.class, line: error.line, column: error.column, length: error.length }
  }
}

function listsOf(lists: Document['lists']['wf']): Lists {
  return {
    get(name, type) {
      const items = lists[type]?.[name]
      if (items === undefined) return undefined
      if (type === 'Int') return intList(items as number[])
      return type === 'Ip' ? ipList(items as string[]) : bytesList(items as string[])
    },
  }
}

const place = ({ kind, line, column, length }: ErrorJson) => ({ kind, line, column, length })

function* casesOf(document: Document): Generator<Case> {
  const fields = Object.entries(document.schemes.wf.fields).map(([name, type]) => ({ name, type: typeOf(type) }))
  const schemes = { wf: new Scheme(fields, [...FUNCTIONS, ...EXTRA], { missingNotEqual: true }), cf: SCHEME }

  for (const [at, item] of [...document.cases, ...document.edge_cases].entries()) {
    const { expr, mode = 'filter', error, expect } = item
    const scheme = schemes[item.scheme]
    const lists = listsOf(document.lists[item.scheme])
    const contexts = () => (item.contexts ?? document.contexts[item.scheme]).map((json) => contextFor(scheme, json))
    const name = `${item.id ?? `edge ${at}`} ${mode}: ${expr}`
    if (error !== undefined) {
      const read = mode === 'filter' ? parse : parseValue
      yield { name, expected: place(error), got: () => outcome(() => (read(expr, { scheme }), 'parsed')) }
    } else if (mode === 'filter') {
      const got = () => {
        const filter = compile(parse(expr, { scheme }), lists)
        return contexts()
          .map((context) => (filter(context) ? '1' : '0'))
          .join('')
      }
      yield { name, expected: expect, got: () => outcome(got) }
    } else {
      const type = typeOf(item.type as TypeJson)
      const got = () => {
        const value = parseValue(expr, { scheme })
        const evaluate = compileValue(value, lists)
        return [value.type.name, ...contexts().map((context) => comparable(evaluate(context), value.type))]
      }
      yield {
        name,
        expected: [type.name, ...(expect as ValueJson[]).map((json) => expected(json, type))],
        got: () => outcome(got),
      }
    }
  }
  for (const { expr, kind, type } of document.must_parse) {
    const read = kind === 'filter' ? () => (parse(expr), 'Bool') : () => parseValue(expr).type.name
    const wanted = kind === 'value' && type !== undefined ? typeOf(type).name : kind === 'filter' ? 'Bool' : undefined
    yield {
      name: `must parse: ${expr}`,
      expected: wanted ?? 'parsed',
      got: () => outcome(wanted ? read : () => (read(), 'parsed')),
    }
  }
  for (const { expr, error } of document.must_fail) {
    yield { name: `must fail: ${expr}`, expected: place(error), got: () => outcome(() => (parse(expr), 'parsed')) }
  }
  for (const { expr, context, expect } of document.function_cases) {
    yield { name: `function: ${expr}`, ...functionCase(expr, context, expect) }
  }
  for (const { field, from, expect } of document.field_cases) {
    yield { name: `field: ${field} of ${JSON.stringify(from)}`, expected: expect, got: () => DERIVED[field]?.(from) }
  }
}

const DERIVED: Record<string, (from: Record<string, string>) => unknown> = {
  'http.request.uri.path.extension': ({ path = '' }) => pathExtension(path),
  'http.response.content_type.media_type': (from) => mediaType(from['content-type'] ?? ''),
  'http.request.accepted_languages': (from) => acceptedLanguages(from['accept-language'] ?? '', UNLIMITED),
}

function functionCase(expr: string, json: ContextJson, expect: ValueJson): Pick<Case, 'expected' | 'got'> {
  const context = contextFor(SCHEME, json)
  if (typeof expect === 'boolean') {
    return { expected: expect, got: () => outcome(() => compile(parse(expr))(context)) }
  }
  const value = outcome(() => parseValue(expr)) as ReturnType<typeof parseValue>
  if (!('type' in value)) return { expected: 'parsed', got: () => value }
  return {
    expected: expected(expect, value.type),
    got: () => comparable(compileValue(value)(context), value.type),
  }
}

/** The cases of the rules language with the results of the reference engine: outcome, error class and position. */
export const filter: Suite = {
  name: 'filter',
  fixture: 'filter-cases.json',
  cases: (file) => casesOf(JSON.parse(readFileSync(file, 'utf8')) as Document),
}
