import type { TSchema } from 'typebox'
import { pointerToken } from '../../core/schema.js'
import { BINDINGS } from '../bindings/index.js'
import { UploadRefused } from '../upload-errors.js'

/** A field of a form. */
interface Field {
  readonly name: string
  readonly bytes: Buffer
}

interface Shape {
  readonly type?: string
  readonly anyOf?: readonly Shape[]
  readonly properties?: Readonly<Record<string, Shape>>
  readonly additionalProperties?: Shape | boolean
  readonly items?: Shape
}

type Container = Map<string, unknown> | unknown[]

const MAX_DEPTH = 32
const ANY: Shape = {}

/**
 * Returns the document that was flattened into fields such as `metadata[bindings][][type]`. `[]` is an element of a
 * list. A new element begins if the last element has that member already. Values arrive as text and are converted to
 * the types of the schema. A binding uses the schema of its type.
 */
export function unflatten(document: string, fields: readonly Field[], schema: TSchema): Record<string, unknown> {
  const root = new Map<string, unknown>()
  for (const { name, bytes } of fields) put(root, stepsOf(document, name), bytes.toString('utf8'))
  return coerced(root, schema) as Record<string, unknown>
}

/** `metadata[a][][b]` is `a`, ``, `b` of the document `metadata`. */
function stepsOf(document: string, name: string): string[] {
  const path = name.slice(document.length)
  const steps = [...path.matchAll(/\[([^[\]]*)\]/g)].map(([, step = '']) => step)
  if (steps.map((step) => `[${step}]`).join('') !== path || steps[0] === '' || steps.length > MAX_DEPTH)
    throw bad(`/${document}`, name, `is not a field of the ${document}`)
  return steps
}

function put(root: Map<string, unknown>, steps: readonly string[], value: string): void {
  let at: Container = root
  for (const [index, step] of steps.entries()) {
    const next = steps[index + 1]
    const rest = steps.slice(index + 1)
    if (Array.isArray(at)) {
      if (next === undefined) {
        at.push(value)
        return
      }
      const last: unknown = at.at(-1)
      at = isContainer(last) && !holds(last, rest) ? last : pushed(at, next)
    } else {
      if (next === undefined) {
        if (at.has(step)) throw bad(pointerOf(steps), steps.join('.'), 'is given twice')
        at.set(step, value)
        return
      }
      const known: unknown = at.get(step)
      if (known !== undefined && (!isContainer(known) || Array.isArray(known) !== (next === '')))
        throw bad(pointerOf(steps), steps.join('.'), 'is given in two forms')
      if (known === undefined) at.set(step, container(next))
      at = at.get(step) as Container
    }
  }
}

/** Returns whether the path has a value already, so that the next one belongs to a new element. */
function holds(element: Container, [step, ...rest]: readonly string[]): boolean {
  if (step === undefined || step === '' || Array.isArray(element)) return false
  const member = element.get(step)
  if (member === undefined) return false
  return rest.length === 0 || !isContainer(member) || holds(member, rest)
}

function pushed(list: unknown[], next: string): Container {
  const made = container(next)
  list.push(made)
  return made
}

const container = (next: string): Container => (next === '' ? [] : new Map<string, unknown>())
const isContainer = (value: unknown): value is Container => value instanceof Map || Array.isArray(value)

/** Returns the value with its strings converted to the types of the schema, if that is possible. */
function coerced(value: unknown, schema: Shape, inBindings = false): unknown {
  const shapes = schema.anyOf ?? [schema]
  if (value instanceof Map) {
    const shape = (inBindings && bindingShape(value)) || (shapes.find(({ type }) => type === 'object') ?? ANY)
    const { properties = {}, additionalProperties } = shape
    const others = typeof additionalProperties === 'object' ? additionalProperties : ANY
    // From entries, so that `__proto__` is a member like any other and can be rejected.
    return Object.fromEntries(
      [...(value as Map<string, unknown>)].map(([name, member]) => {
        const own = Object.hasOwn(properties, name) ? properties[name] : undefined
        return [name, coerced(member, own ?? others, name === 'bindings')]
      }),
    )
  }
  if (Array.isArray(value)) {
    const { items = ANY } = shapes.find(({ type }) => type === 'array') ?? ANY
    return value.map((element) => coerced(element, items, inBindings))
  }
  return scalar(String(value), shapes)
}

function bindingShape(binding: ReadonlyMap<string, unknown>): Shape | undefined {
  const type = binding.get('type')
  return typeof type === 'string' ? BINDINGS.get(type)?.schema : undefined
}

function scalar(text: string, shapes: readonly Shape[]): unknown {
  const types = new Set(shapes.map(({ type }) => type))
  if (types.has('boolean') && (text === 'true' || text === 'false')) return text === 'true'
  if ((types.has('number') || types.has('integer')) && /^-?\d{1,15}(\.\d{1,15})?$/.test(text)) return Number(text)
  return text
}

/** Elements of lists have no number in the name of a field. */
const pointerOf = (steps: readonly string[]): string =>
  steps
    .slice(0, steps.includes('') ? steps.indexOf('') : undefined)
    .map((step) => `/${pointerToken(step)}`)
    .join('')

const bad = (pointer: string, name: string, message: string): Error =>
  new UploadRefused([{ kind: 'invalidScript', pointer, message: `${JSON.stringify(name.slice(0, 200))} ${message}` }])
