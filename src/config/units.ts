import { Type } from 'typebox'

const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/
const SIZE = /^(\d+(?:\.\d+)?)(B|KB|MB|GB|KiB|MiB|GiB)$/
const MILLISECONDS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const BYTES = { B: 1, KB: 1e3, MB: 1e6, GB: 1e9, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 } as const

/** A duration as written, `10s`; milliseconds after {@link resolveUnits}. */
export const Duration = (byDefault: string | undefined, description: string) =>
  Type.Unsafe<number>(
    Type.String({
      pattern: DURATION.source,
      ...(byDefault !== undefined && { default: byDefault }),
      description,
      'x-unit': 'duration',
      'x-message': 'must be a number with a unit: ms, s, m, h or d, as in 10s',
    }),
  )

/** A size as written, `16KB`; bytes after {@link resolveUnits}. */
export const Size = (byDefault: string, description: string) =>
  Type.Unsafe<number>(
    Type.String({
      pattern: SIZE.source,
      default: byDefault,
      description,
      'x-unit': 'size',
      'x-message': 'must be a number with a unit: B, KB, MB, GB, KiB, MiB or GiB, as in 16KB',
    }),
  )

/** Returns the milliseconds of `10s`, or undefined if the text is not a duration. */
function milliseconds(text: string): number | undefined {
  const [, number, unit] = DURATION.exec(text) ?? []
  return number === undefined ? undefined : Number(number) * MILLISECONDS[unit as keyof typeof MILLISECONDS]
}

/** Returns the bytes of `16KB`, or undefined if the text is not a size. */
function bytes(text: string): number | undefined {
  const [, number, unit] = SIZE.exec(text) ?? []
  return number === undefined ? undefined : Math.floor(Number(number) * BYTES[unit as keyof typeof BYTES])
}

interface Shape {
  readonly 'x-unit'?: string
  readonly properties?: Readonly<Record<string, Shape>>
  readonly items?: Shape
}

/** Returns a valid value with each duration and size of its schema converted to a number. */
export function resolveUnits(schema: object, value: unknown): unknown {
  return resolveValue(schema, value)
}

function resolveValue(schema: Shape, value: unknown): unknown {
  if (typeof value === 'string') {
    if (schema['x-unit'] === 'duration') return milliseconds(value)
    if (schema['x-unit'] === 'size') return bytes(value)
  }
  if (Array.isArray(value)) return schema.items ? value.map((item) => resolveValue(schema.items ?? {}, item)) : value
  if (value === null || typeof value !== 'object' || !schema.properties) return value
  const { properties } = schema
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, resolveValue(properties[key] ?? {}, member)]),
  )
}
