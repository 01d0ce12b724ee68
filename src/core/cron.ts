/**
 * Cron expressions of five fields: minute, hour, day of the month, month, day of the week. Lists, ranges, steps and names
 * are known, and of the days `L` (the last one), `15W` (the workday next to the 15th) and `6#2` (the second Friday). Days of
 * the week count from 1, a Sunday. Times are UTC.
 */
export interface Cron {
  /** Whether the minute of this time is one of the schedule's. */
  due(at: Date): boolean
}

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const DAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

type Test = (at: Date) => boolean

/** Reads an expression; undefined where it is none. */
export function parseCron(text: string): Cron | undefined {
  const fields = text.trim().toUpperCase().split(/\s+/)
  if (text.length > 200 || fields.length !== 5) return undefined
  const [minutes = '', hours = '', days = '', months = '', weekdays = ''] = fields
  const minute = numbers(minutes, 0, 59)
  const hour = numbers(hours, 0, 23)
  const month = numbers(months, 1, 12, MONTHS)
  const day = days === '*' || days === '?' ? undefined : tests(days, dayOfMonth)
  const weekday = weekdays === '*' || weekdays === '?' ? undefined : tests(weekdays, dayOfWeek)
  if (!minute || !hour || !month || day === null || weekday === null) return undefined
  return {
    due(at) {
      if (!minute.has(at.getUTCMinutes()) || !hour.has(at.getUTCHours()) || !month.has(at.getUTCMonth() + 1))
        return false
      // With both kinds of days given, either will do, as in every cron.
      if (day && weekday) return day(at) || weekday(at)
      return (day ?? weekday)?.(at) ?? true
    },
  }
}

/** One of several tests; null where one of the parts has none. */
function tests(field: string, read: (part: string) => Test | undefined): Test | null {
  const all: Test[] = []
  for (const part of field.split(',')) {
    const test = read(part)
    if (!test) return null
    all.push(test)
  }
  return (at) => all.some((test) => test(at))
}

function dayOfMonth(part: string): Test | undefined {
  if (part === 'L') return (at) => at.getUTCDate() === lastDay(at)
  const [, near] = /^(\d{1,2}|L)W$/.exec(part) ?? []
  if (near !== undefined) {
    if (near !== 'L' && (Number(near) < 1 || Number(near) > 31)) return undefined
    return (at) => at.getUTCDate() === workdayNextTo(at, near === 'L' ? lastDay(at) : Number(near))
  }
  const days = numbers(part, 1, 31)
  return days && ((at) => days.has(at.getUTCDate()))
}

function dayOfWeek(part: string): Test | undefined {
  const [, name = '', mark, place] = /^([A-Z]{3}|\d)(L|#)(\d)?$/.exec(part) ?? []
  if (mark !== undefined) {
    const [day] = numbers(name, 1, 7, DAYS) ?? []
    if (day === undefined || (mark === 'L') !== (place === undefined)) return undefined
    const which = Number(place ?? 0)
    if (mark === '#' && (which < 1 || which > 5)) return undefined
    const nth = (at: Date) =>
      mark === 'L' ? at.getUTCDate() + 7 > lastDay(at) : Math.ceil(at.getUTCDate() / 7) === which
    return (at) => at.getUTCDay() + 1 === day && nth(at)
  }
  const days = part === 'L' ? new Set([7]) : numbers(part, 1, 7, DAYS)
  return days && ((at) => days.has(at.getUTCDay() + 1))
}

/** The values of a field such as `1,10-20/5`. */
function numbers(field: string, least: number, most: number, names: readonly string[] = []): Set<number> | undefined {
  const found = new Set<number>()
  const value = (text: string): number => {
    const at = names.indexOf(text)
    if (at >= 0) return at + least
    return /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN
  }
  for (const part of field.split(',')) {
    const [, range = '', step] = /^([^/]+)(?:\/(\d{1,2}))?$/.exec(part) ?? []
    const by = step === undefined ? 1 : Number(step)
    const [first = '', second] = range === '*' ? [String(least), String(most)] : range.split('-', 2)
    const from = value(first)
    const to = second === undefined ? (step === undefined ? from : most) : value(second)
    if (!(from >= least && to <= most && from <= to && by >= 1) || range.split('-').length > 2) return undefined
    for (let at = from; at <= to; at += by) found.add(at)
  }
  return found
}

const lastDay = (at: Date): number => new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 0)).getUTCDate()

/** The workday of the month of `at` that is nearest to a day; 0 where the month has no such day. */
function workdayNextTo(at: Date, day: number): number {
  const last = lastDay(at)
  if (day > last) return 0
  const weekday = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), day)).getUTCDay()
  if (weekday === 6) return day === 1 ? 3 : day - 1
  if (weekday === 0) return day === last ? day - 2 : day + 1
  return day
}
