/**
 * The `filter` of a job, checked against the types of its dataset and compiled once to a function of scanned records.
 * A value that is missing, null or of another type than the field's makes an operator false, and a negated one true.
 */
import { InvalidInput, type Issue } from '../../src/core/errors.js'
import { pointerToken } from '../../src/core/schema.js'
import { comparison } from './comparisons.js'
import type { Dataset, FieldType, FilterNode } from './fields/dataset.js'
import { fieldIssue } from './field-issue.js'
import { readFilter } from './filter-text.js'
import type { ScannedRecord } from './fields/scan.js'

/** True for the records that are kept. */
export interface Filter {
  (record: ScannedRecord): boolean
  /** Indexes of the fields that the filter reads. */
  readonly places: ReadonlySet<number>
}

export interface FilterLimits {
  /** Maximum bytes of text. Default is 1,000. */
  readonly bytes?: number
  /** Maximum comparisons. Default is 30. */
  readonly comparisons?: number
}

/**
 * Compiles a filter, given as JSON text or as the parsed `{where: node}`. A node is `{and: [...]}`, `{or: [...]}` or
 * `{key, operator, value}`. Empty text keeps all records. Throws InvalidInput with pointers into the filter, such as
 * `/where/and/0/operator`. Text that is not JSON is rejected as a whole.
 */
export function compileFilter(dataset: Dataset, filter: unknown, limits: FilterLimits = {}): Filter {
  if (filter === '') return Object.assign(() => true, { places: new Set<number>() })
  const { bytes = 1000, comparisons = 30 } = limits
  const text = typeof filter === 'string' ? filter : (JSON.stringify(filter) ?? '')
  const size = Buffer.byteLength(text)
  if (size > bytes) throw refusal('', `has at most ${bytes} bytes, found ${size}`)
  const root = readFilter(filter)
  if (!isObject(root)) throw refusal('', 'must be an object')
  const compiler = new Compiler(dataset, comparisons)
  const [other] = Object.keys(root).filter((key) => key !== 'where')
  if (other !== undefined) compiler.wrong(`/${pointerToken(other)}`, 'is not a known member')
  if (!('where' in root)) throw refusal('/where', 'is required')
  return compiler.finish(compiler.node(root['where'], '/where'))
}

/** Compiles a condition of a dataset's own file, which can also name fields that filters cannot name. */
export function compileCondition(dataset: Dataset, condition: FilterNode): Filter {
  const compiler = new Compiler({ ...dataset, unfilterable: [] }, Infinity)
  return compiler.finish(compiler.node(condition, ''))
}

const refusal = (pointer: string, message: string) => new InvalidInput([{ pointer, message }])

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const NUMERIC = ['eq', '!eq', 'lt', 'leq', 'gt', 'geq', 'in', '!in']
const TEXTUAL = 'eq !eq startsWith endsWith !startsWith !endsWith contains !contains in !in'.split(' ')
const LISTED = ['contains', '!contains']

/** The operators that a field of a type takes. */
export const OPERATORS: Readonly<Record<FieldType, readonly string[]>> = {
  any: [...TEXTUAL, 'lt', 'leq', 'gt', 'geq'],
  string: TEXTUAL,
  int: NUMERIC,
  float: NUMERIC,
  timestamp: NUMERIC,
  bool: ['eq', '!eq'],
  'array[string]': LISTED,
  'array[int]': LISTED,
  'array[object]': [],
  object: [],
}

type Check = (record: ScannedRecord) => boolean

const NEVER: Check = () => false

class Compiler {
  readonly #dataset: Dataset
  readonly #max: number
  readonly #issues: Issue[] = []
  readonly #places = new Set<number>()
  #comparisons = 0

  constructor(dataset: Dataset, max: number) {
    this.#dataset = dataset
    this.#max = max
  }

  finish(root: Check): Filter {
    if (this.#comparisons > this.#max)
      this.wrong('', `has at most ${this.#max} comparisons, found ${this.#comparisons}`)
    if (this.#issues.length > 0) throw new InvalidInput(this.#issues)
    return Object.assign(root, { places: this.#places })
  }

  wrong(pointer: string, message: string): Check {
    this.#issues.push({ pointer, message })
    return NEVER
  }

  node(node: unknown, at: string): Check {
    if (!isObject(node)) return this.wrong(at, 'must be an object')
    const join = 'and' in node ? 'and' : 'or' in node ? 'or' : undefined
    const known = join === undefined ? ['key', 'operator', 'value'] : [join]
    const other = Object.keys(node).filter((key) => !known.includes(key))
    for (const key of other) this.wrong(`${at}/${pointerToken(key)}`, 'is not a known member')
    if (join === undefined) return this.#comparison(node, at)
    const list = node[join]
    if (!Array.isArray(list) || list.length === 0)
      return this.wrong(`${at}/${join}`, 'must be a list of at least one condition')
    const tests = list.map((each, index) => this.node(each, `${at}/${join}/${index}`))
    return join === 'and' ? all(tests) : any(tests)
  }

  #comparison(node: Record<string, unknown>, at: string): Check {
    this.#comparisons++
    const missing = ['key', 'operator', 'value'].filter((key) => !(key in node))
    for (const key of missing) this.wrong(`${at}/${key}`, 'is required')
    if (missing.length > 0) return NEVER

    const { key, operator, value } = node
    const { name, types, places, unfilterable } = this.#dataset
    const place = typeof key === 'string' ? places.get(key) : undefined
    const written = operator === 'neq' ? '!eq' : operator
    if (place === undefined) {
      const message = typeof key === 'string' ? fieldIssue(this.#dataset, key) : undefined
      this.wrong(`${at}/key`, message ?? `is not a field of ${name}`)
      return isIn(OPERATORS.any, written) ? NEVER : this.wrong(`${at}/operator`, mustBeOneOf(OPERATORS.any))
    }
    const type = types[place]!
    const operators = OPERATORS[type]
    if (operators.length === 0) return this.wrong(`${at}/key`, `has values of type ${type}, which cannot be filtered`)
    if (unfilterable?.includes(String(key))) return this.wrong(`${at}/key`, 'cannot be filtered')
    if (!isIn(operators, written))
      return this.wrong(`${at}/operator`, `${mustBeOneOf(operators)} for a field of type ${type}`)

    const negated = written.startsWith('!')
    const made = comparison(type, negated ? written.slice(1) : written, value)
    if ('wrong' in made) return this.wrong(`${at}/value${made.at ?? ''}`, made.wrong)
    this.#places.add(place)
    return bound(made.test, place, negated)
  }
}

const isIn = (operators: readonly string[], operator: unknown): operator is string =>
  typeof operator === 'string' && operators.includes(operator)

const mustBeOneOf = (operators: readonly string[]): string => `must be one of ${operators.join(', ')}`

type Test = (bytes: Uint8Array, start: number, end: number, mark: number) => boolean

function bound(test: Test, place: number, negated: boolean): Check {
  return ({ bytes, starts, ends, marks }) => {
    const start = starts[place]!
    if (start < 0) return negated
    return test(bytes, start, ends[place]!, marks[place]!) !== negated
  }
}

function all(tests: readonly Check[]): Check {
  return (record) => {
    for (const test of tests) if (!test(record)) return false
    return true
  }
}

function any(tests: readonly Check[]): Check {
  return (record) => {
    for (const test of tests) if (test(record)) return true
    return false
  }
}
