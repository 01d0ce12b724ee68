import type { TSchema } from 'typebox'
import { pointerToken } from '../../core/schema.js'
import { BINDINGS } from '../bindings/index.js'
import { isAvailable } from './bindings.js'
import { Metadata } from '../metadata/schema.js'

/** Maximum number of pointers for one document. */
const MAX_POINTERS = 1000

/**
 * Members of the metadata that are stored and returned without effect, with the values that ask for an effect. `*` is
 * any entry of a map or list. The entries of `bindings` are named by their type.
 */
export const INERT: Readonly<Record<string, (value: unknown) => boolean>> = {
  '/cache_options': isEnabled,
  '/containers': isFilled,
  '/exports/*/cache': isEnabled,
  '/exports/*/container': isFilled,
  '/limits': isFilled,
  '/observability/issues': isEnabled,
  '/observability/logs/destinations': isFilled,
  '/observability/traces': (value) =>
    isEnabled(value) || isFilled(member(value, 'destinations')) || isFilled(member(value, 'propagation_policy')),
  '/placement': isFilled,
  '/tail_consumers/*/environment': isOtherEnvironment,
  '/tail_consumers/*/namespace': isFilled,
  '/usage_model': (value) => value !== 'standard',
  '/bindings/durable_object_namespace/dispatch_namespace': isFilled,
  '/bindings/durable_object_namespace/environment': isOtherEnvironment,
  '/bindings/durable_object_namespace/retry': isFilled,
  '/bindings/ratelimit/simple/mitigation_timeout': (value) => value !== 0,
  '/bindings/service/environment': isOtherEnvironment,
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined
}

function isEnabled(value: unknown): boolean {
  return member(value, 'enabled') === true
}

/** Returns whether a value, or a member of the value, is more than empty. */
function isFilled(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).some((one) => one !== null)
  return value !== undefined && value !== null && value !== false && value !== ''
}

/** Scripts have one environment. */
function isOtherEnvironment(value: unknown): boolean {
  return isFilled(value) && value !== 'production'
}

/**
 * Returns pointers to the members of metadata and to the bindings that have no effect here, unknown members included.
 * Returns at most {@link MAX_POINTERS}.
 */
export function inertMembers(metadata: object): string[] {
  const found: string[] = []
  visit(found, { pattern: '', pointer: '' }, metadata, Metadata)
  return found.slice(0, MAX_POINTERS)
}

interface Place {
  /** Key of {@link INERT}. */
  readonly pattern: string
  readonly pointer: string
}

/** Adds the inert members of a value to `found`. Values whose schema is open are not visited. */
function visit(found: string[], { pattern, pointer }: Place, value: unknown, schema: TSchema | undefined): void {
  if (found.length >= MAX_POINTERS || value === undefined) return
  const asks = INERT[pattern]
  if (asks) {
    if (asks(value)) found.push(pointer)
    return
  }
  const { properties, items } = shapeOf(schema)
  if (typeof value !== 'object' || value === null || (!properties && !items)) return
  for (const [name, one] of Object.entries(value)) {
    const at = `${pointer}/${pointerToken(name)}`
    if (pattern === '/bindings') visitBinding(found, at, one)
    else if (!properties) visit(found, { pattern: `${pattern}/*`, pointer: at }, one, items)
    else if (Object.hasOwn(properties, name))
      visit(found, { pattern: `${pattern}/${name}`, pointer: at }, one, properties[name])
    else if (isFilled(one)) found.push(at)
  }
}

function visitBinding(found: string[], pointer: string, binding: unknown): void {
  const type = String(member(binding, 'type'))
  if (isAvailable(type)) visit(found, { pattern: `/bindings/${type}`, pointer }, binding, BINDINGS.get(type)?.schema)
  else found.push(pointer)
}

interface Shape {
  /** Undefined if any name is allowed. */
  readonly properties?: Readonly<Record<string, TSchema>>
  /** Schema of the entries of a list or map. */
  readonly items?: TSchema
}

/** Returns the members of a schema. A schema of any object has none. */
export function shapeOf(schema: TSchema | undefined): Shape {
  const { anyOf, properties, items, additionalProperties } = (schema ?? {}) as {
    readonly anyOf?: readonly TSchema[]
    readonly properties?: Readonly<Record<string, TSchema>>
    readonly items?: TSchema
    readonly additionalProperties?: TSchema | boolean
  }
  if (anyOf) return anyOf.map(shapeOf).find((one) => one.properties ?? one.items) ?? {}
  if (properties && Object.keys(properties).length > 0) return { properties }
  const entries = items ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined)
  return entries ? { items: entries } : {}
}
