const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'] as const

/** Returns a number of bytes for people, `1.2 MB`. */
export function bytesText(bytes: number): string {
  let value = bytes
  let unit = 0
  for (; value >= 999.5 && unit < UNITS.length - 1; unit++) value /= 1000
  return `${unit === 0 || value >= 99.95 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`
}
