/** Numbers, sizes, times and durations as the dashboard writes them. */
const NUMBER = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
const TIME = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })
const DAY_AND_YEAR = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })
const UNITS = ['B', 'KB', 'MB', 'GB', 'TB', 'PB']
const STEPS = ['', 'k', 'M', 'G', 'T']
const NONE = '–'
const HOUR_SECONDS = 3600
const DAY_SECONDS = 86_400
const DAY_MS = 86_400_000

/** `48,213`. */
export const number = (value: number | null | undefined): string => (value == null ? NONE : NUMBER.format(value))

/** `4.1 M`: at most three digits, for narrow places. */
export function short(value: number | null | undefined): string {
  if (value == null) return NONE
  const at = Math.abs(value) < 10_000 ? 0 : Math.min(Math.floor(Math.log10(Math.abs(value)) / 3), STEPS.length - 1)
  return at === 0 ? NUMBER.format(value) : `${NUMBER.format(value / 1000 ** at)} ${STEPS[at]}`
}

const DIGITS = 3

/** `0.25`, `12.4`, `4.1 M`: three digits, for axes and rates. */
export const digits = (value: number): string => {
  const rounded = Number(value.toPrecision(DIGITS))
  return Math.abs(rounded) < 1000 ? String(rounded) : short(rounded)
}

/** `1.9 MB`: decimal units. */
export function bytes(size: number | null | undefined): string {
  if (size == null) return NONE
  const at = Math.abs(size) < 1 ? 0 : Math.min(Math.floor(Math.log10(Math.abs(size)) / 3), UNITS.length - 1)
  return `${(size / 1000 ** at).toFixed(at === 0 ? 0 : 1)} ${UNITS[at]}`
}

/** `61.2 %`. */
export const percent = (part: number | null | undefined, whole: number): string =>
  part == null || whole === 0 ? NONE : `${NUMBER.format((100 * part) / whole)} %`

/** `182 ms`, `1.2 s`. */
export function ms(value: number | null | undefined): string {
  if (value == null) return NONE
  return value < 1000 ? `${NUMBER.format(value)} ms` : duration(value / 1000)
}

/** `9 s`, `4 m 12 s`, `3 h 5 m`, `2 d 4 h`. */
export function duration(seconds: number | null | undefined): string {
  if (seconds == null) return NONE
  if (seconds < 60) return `${NUMBER.format(seconds < 10 ? seconds : Math.round(seconds))} s`
  const whole = Math.round(seconds)
  if (whole < HOUR_SECONDS) return joined(Math.floor(whole / 60), 'm', whole % 60, 's')
  if (whole < DAY_SECONDS)
    return joined(Math.floor(whole / HOUR_SECONDS), 'h', Math.floor((whole % HOUR_SECONDS) / 60), 'm')
  return joined(Math.floor(whole / DAY_SECONDS), 'd', Math.floor((whole % DAY_SECONDS) / HOUR_SECONDS), 'h')
}

const joined = (large: number, unit: string, small: number, smallUnit: string): string =>
  small === 0 ? `${large} ${unit}` : `${large} ${unit} ${small} ${smallUnit}`

type Instant = string | number | Date

/** `18:02:11`, in the time zone of the reader. */
export const clock = (at: Instant): string => TIME.format(new Date(at))

/** `18:02:11` today, `21 Nov 18:02` this year, or `21 Nov 2025`. */
export function when(at: Instant | null | undefined, now = Date.now()): string {
  if (at == null) return NONE
  const date = new Date(at)
  if (date.toDateString() === new Date(now).toDateString()) return clock(date)
  if (date.getFullYear() === new Date(now).getFullYear()) return `${DAY.format(date)} ${clock(date).slice(0, 5)}`
  return DAY_AND_YEAR.format(date)
}

/** `4 m ago`, `in 3 d`. */
export function ago(at: Instant | null | undefined, now = Date.now()): string {
  if (at == null) return NONE
  const seconds = (now - new Date(at).getTime()) / 1000
  const [text] = duration(Math.max(Math.round(Math.abs(seconds)), 1)).split(/(?<=[a-z]) /)
  return seconds >= 0 ? `${text} ago` : `in ${text}`
}

/** Whole days until a point in time. */
export const daysUntil = (at: Instant, now = Date.now()): number => Math.floor((new Date(at).getTime() - now) / DAY_MS)

/** `1 record`, `312 records`. */
export const count = (value: number, one: string, many = `${one}s`): string =>
  `${number(value)} ${value === 1 ? one : many}`

/** Returns the name of a category as people write it: `AI crawler` for `ai_crawler`. */
export const categoryName = (category: string): string => category.replaceAll('_', ' ').replace(/^ai\b/, 'AI')
