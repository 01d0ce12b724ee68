/** Converts values between the rules language and plug-ins, which may return anything. */
import { formatIp, parseIp } from './ip.js'
import { parseType, type Type } from './types.js'
import { toBytes, type Ip, type Value } from './value.js'

/** Returns the type that a plug-in names. Throws a TypeError for maps and unknown types. */
export function pluginType(name: unknown): Type {
  const type = parseType(String(name))
  for (let inner: Type | undefined = type; inner !== undefined; inner = inner.of)
    if (inner.kind === 'Map') throw new TypeError(`${type.name} is a map; plug-ins have no maps`)
  return type
}

/** Returns a value as plug-ins get it. */
export function toPlugin(value: Value | undefined, type: Type): unknown {
  if (value === undefined) return undefined
  if (type.kind === 'Ip') return formatIp(value as Ip)
  if (type.kind === 'Array') return (value as readonly Value[]).map((item) => toPlugin(item, type.of!))
  return value
}

const BEYOND_BYTES = /[^\0-\xff]/

/** Returns the value that a plug-in returned, or undefined if it is not of the type. Other texts become UTF-8. */
export function fromPlugin(given: unknown, type: Type): Value | undefined {
  switch (type.kind) {
    case 'Bool':
      return typeof given === 'boolean' ? given : undefined
    case 'Int':
      return Number.isSafeInteger(given) ? (given as number) : undefined
    case 'Bytes':
      if (typeof given !== 'string') return undefined
      return BEYOND_BYTES.test(given) ? toBytes(given) : given
    case 'Ip':
      return typeof given === 'string' ? parseIp(given) : undefined
    default: {
      if (!Array.isArray(given)) return undefined
      const items = given.map((item: unknown) => fromPlugin(item, type.of!))
      return items.every((item) => item !== undefined) ? items : undefined
    }
  }
}

const reported = new Set<string>()

/** Calls a plug-in. If it throws, the value is missing; the first error of each name is a warning of the process. */
export function calledSafely(name: string, call: () => unknown): unknown {
  try {
    return call()
  } catch (error) {
    if (!reported.has(name)) {
      reported.add(name)
      process.emitWarning(`${name} of a plug-in failed, its value is missing: ${String(error)}`, 'PluginWarning')
    }
    return undefined
  }
}
