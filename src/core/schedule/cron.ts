import { Cron as Pattern } from 'croner'

/**
 * Cron expressions with the five fields minute, hour, day of the month, month and day of the week. Fields accept lists,
 * ranges, steps and names. Days also accept `L` (the last one), `15W` (the weekday nearest to the 15th) and `6#2` (the
 * second Friday). Days of the week count from 1, which is Sunday. Times are UTC.
 */
export interface Cron {
  /** Returns whether the schedule is due in the minute of this time. */
  due(at: Date): boolean
}

const MAX_LENGTH = 200

/** Parses an expression. Returns undefined if it is not valid. */
export function parseCron(text: string): Cron | undefined {
  const fields = text.trim().toUpperCase().split(/\s+/)
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = fields
  if (text.length > MAX_LENGTH || fields.length !== 5) return undefined
  // The parser accepts more than we do: `?` in all fields, and the days of the week 0 and 8. It rejects the day of
  // the week `L`, which is Saturday.
  if ([minute, hour, month].some((field) => field.includes('?')) || /(?:^|[,-])[089]/.test(weekday)) return undefined
  const expression = [minute, hour, day, month, weekday === 'L' ? '7' : weekday].join(' ')
  try {
    const pattern = new Pattern(expression, {
      timezone: 'UTC',
      mode: '5-part',
      alternativeWeekdays: true,
      sloppyRanges: true,
    })
    return { due: (at) => pattern.match(new Date(Math.floor(at.getTime() / 60_000) * 60_000)) }
  } catch {
    return undefined
  }
}
