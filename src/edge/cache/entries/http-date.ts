const MONTHS = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ')
const DAY = '(?:mon|tue|wed|thu|fri|sat|sun)'
const TIME = '(\\d{2}):(\\d{2}):(\\d{2})'
// The format of RFC 9110, 5.6.7. Case is ignored, as every known cache does. Everything else is exact.
const IMF = new RegExp(`^${DAY}, (\\d{2}) ([a-z]{3}) (\\d{4}) ${TIME} gmt$`, 'i')
const RFC850 = new RegExp(`^${DAY}[a-z]*, (\\d{2})-([a-z]{3})-(\\d{2}) ${TIME} gmt$`, 'i')
const ASCTIME = new RegExp(`^${DAY} ([a-z]{3}) ([ \\d]\\d) ${TIME} (\\d{4})$`, 'i')

/** A two-digit year more than this many years ahead is one of the last century (RFC 9110, 5.6.7). */
const CENTURY_LIMIT_YEARS = 50

/** Returns the milliseconds since 1970 of an HTTP date, or undefined if it is not one. */
export function httpDate(text: string | undefined, now = Date.now()): number | undefined {
  if (text === undefined || text.length > 40) return undefined
  const imf = IMF.exec(text)
  if (imf) return time(imf[3]!, imf[2]!, imf[1]!, imf.slice(4))
  const old = RFC850.exec(text)
  if (old) {
    const thisYear = new Date(now).getUTCFullYear()
    let year = thisYear - (thisYear % 100) + Number(old[3])
    if (year > thisYear + CENTURY_LIMIT_YEARS) year -= 100
    return time(String(year), old[2]!, old[1]!, old.slice(4))
  }
  const asctime = ASCTIME.exec(text)
  return asctime ? time(asctime[6]!, asctime[1]!, asctime[2]!, asctime.slice(3, 6)) : undefined
}

function time(year: string, month: string, day: string, clock: readonly string[]): number | undefined {
  const index = MONTHS.indexOf(month.toLowerCase())
  const [hours, minutes, seconds] = clock.map(Number) as [number, number, number]
  // A leap second is 60.
  if (index < 0 || Number(day) < 1 || Number(day) > 31 || hours > 23 || minutes > 59 || seconds > 60) return undefined
  return Date.UTC(Number(year), index, Number(day), hours, minutes, seconds)
}
