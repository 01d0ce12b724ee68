/** Fields that usually have the time of a record, the more specific ones first. */
const TIME_FIELDS = ['EdgeStartTimestamp', 'Datetime', 'Timestamp', '@timestamp', 'timestamp', 'time', 'ts'] as const

/** Returns a line as a JSON object. Undefined if it is not one. */
export function objectOf(line: string): Readonly<Record<string, unknown>> | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    return JSON.parse(line) as Readonly<Record<string, unknown>>
  } catch {
    return undefined
  }
}

/**
 * Returns the time of a record in nanoseconds since 1970. It is read from `field`, or from the first usual field with a
 * time. Whole numbers count as seconds, milliseconds, microseconds or nanoseconds by their size, and strings as RFC
 * 3339.
 */
export function recordTime(
  line: string,
  record: Readonly<Record<string, unknown>> | undefined,
  field?: string,
): bigint | undefined {
  if (record === undefined) return undefined
  for (const name of field === undefined ? TIME_FIELDS : [field]) {
    const value = Object.hasOwn(record, name) ? record[name] : undefined
    const time =
      typeof value === 'number' ? ofNumber(line, name, value) : typeof value === 'string' ? ofText(value) : undefined
    if (time !== undefined) return time
  }
  return undefined
}

function ofNumber(line: string, name: string, value: number): bigint | undefined {
  if (!(value >= 1e8 && value < 9e18)) return undefined
  if (Number.isSafeInteger(value)) return scaled(BigInt(value))
  // A number of nanoseconds has more digits than a double, so the digits are read from the text.
  const at = line.indexOf(`${JSON.stringify(name)}:`)
  const [, digits = ''] = /^"[^"]*":\s*(\d+)/.exec(at < 0 ? '' : line.slice(at)) ?? []
  return Number(digits) === value ? scaled(BigInt(digits)) : scaled(BigInt(Math.floor(value)))
}

function scaled(value: bigint): bigint {
  if (value < 100_000_000_000n) return value * 1_000_000_000n
  if (value < 100_000_000_000_000n) return value * 1_000_000n
  return value < 100_000_000_000_000_000n ? value * 1000n : value
}

const RFC3339 = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?([Zz]|[+-]\d\d:\d\d)$/

function ofText(text: string): bigint | undefined {
  const [, day = '', clock = '', fraction = '', zone = ''] = RFC3339.exec(text) ?? []
  const ms = Date.parse(`${day}T${clock}${zone.toUpperCase()}`)
  return Number.isNaN(ms) ? undefined : BigInt(ms) * 1_000_000n + BigInt(fraction.padEnd(9, '0'))
}
