/**
 * Syslog messages of RFC 5424 and RFC 3164. Reading never fails, because text without a valid header is the message.
 */

/** Parts of a message. Absent parts are null. */
export interface SyslogMessage {
  readonly facility: string
  readonly severity: string
  /** 1 for RFC 5424, null for RFC 3164. */
  readonly version: number | null
  /** RFC 3339. Digits as in the message for RFC 5424. */
  readonly timestamp: string | null
  readonly hostname: string | null
  readonly appname: string | null
  readonly procid: string | null
  readonly msgid: string | null
  /** Parameters by SD-ID. */
  readonly structured_data: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly message: string
}

const FACILITIES =
  'kern user mail daemon auth syslog lpr news uucp cron authpriv ftp ntp audit alert clockd local0 local1 local2 local3 local4 local5 local6 local7'.split(
    ' ',
  )
const SEVERITIES = 'emerg alert crit err warning notice info debug'.split(' ')
/** Priority user.notice for a message without one (RFC 3164, 4.3.3). */
const DEFAULT_PRIORITY = 13

const PRIORITY = /^<(\d{1,3})>/
const HEADER_5424 = /^(\d{1,2}) (-|\S{1,64}) (\S{1,255}) (\S{1,48}) (\S{1,128}) (\S{1,32}) /
const TIMESTAMP_5424 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/
const HEADER_3164 =
  /^(?:(?<stamp>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d)|(?<iso>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d))) (?<rest>.*)$/s
const HOST_AND_TAG =
  /^(?:(?<host>[^\s:[\]]{1,255}) )?(?<tag>[^\s:[\]]{1,48})(?:\[(?<pid>[^\]\s]{1,128})\])?: ?(?<text>.*)$/s

/** Reads a message. `now` completes timestamps of RFC 3164, which have no year and are in the local time zone. */
export function readSyslog(text: string, now: number): SyslogMessage {
  const [whole = '', digits] = PRIORITY.exec(text) ?? []
  const given = digits === undefined ? DEFAULT_PRIORITY : Number(digits)
  const valid = given <= 191
  const priority = valid ? given : DEFAULT_PRIORITY
  const body = valid ? text.slice(whole.length) : text
  const level = { facility: FACILITIES[priority >> 3]!, severity: SEVERITIES[priority & 7]! }
  const found = digits === undefined ? undefined : read5424(body)
  return { ...level, ...(found ?? read3164(body, now)) }
}

type Parts = Omit<SyslogMessage, 'facility' | 'severity'>

function read5424(body: string): Parts | undefined {
  const header = HEADER_5424.exec(body)
  if (header === null) return undefined
  const [whole, version, stamp = '-', hostname, appname, procid, msgid] = header
  if (version !== '1' || (stamp !== '-' && !TIMESTAMP_5424.test(stamp))) return undefined
  const data = readStructuredData(body, whole.length)
  if (data === undefined) return undefined
  return {
    version: 1,
    timestamp: orNil(stamp),
    hostname: orNil(hostname),
    appname: orNil(appname),
    procid: orNil(procid),
    msgid: orNil(msgid),
    structured_data: data.found,
    message: body
      .slice(data.end)
      .replace(/^ /, '')
      .replace(/^\uFEFF/, ''),
  }
}

const orNil = (text = '-'): string | null => (text === '-' ? null : text)

const ELEMENT = /\[([^\s=\]"]{1,255})/y
const PARAMETER = / +([^\s=\]"]{1,255})="((?:[^"\\\]]|\\.)*)"/sy

/** Maximum characters of structured data. Elements beyond are part of the message. */
const MAX_STRUCTURED = 65_536

/** Reads STRUCTURED-DATA. Undefined if it is malformed. */
function readStructuredData(text: string, from: number) {
  const ends = (at: number) => at === text.length || text[at] === ' '
  if (text[from] === '-' && ends(from + 1)) return { found: {}, end: from + 1 }
  const found = new Map<string, Readonly<Record<string, string>>>()
  let at = from
  while (text[at] === '[') {
    const start = at
    ELEMENT.lastIndex = at
    const id = ELEMENT.exec(text)?.[1]
    if (id === undefined) return undefined
    at = ELEMENT.lastIndex
    const parameters: [string, string][] = []
    for (;;) {
      PARAMETER.lastIndex = at
      const parameter = PARAMETER.exec(text)
      if (parameter === null) break
      at = PARAMETER.lastIndex
      if (at - from > MAX_STRUCTURED) return { found: Object.fromEntries(found), end: start }
      // A backslash stays before other characters (RFC 5424, 6.3.3).
      parameters.push([parameter[1]!, parameter[2]!.replaceAll(/\\(["\\\]])/g, '$1')])
    }
    if (text[at] !== ']') return undefined
    if (++at - from > MAX_STRUCTURED) return { found: Object.fromEntries(found), end: start }
    found.set(id, Object.fromEntries(parameters))
  }
  return at > from && ends(at) ? { found: Object.fromEntries(found), end: at } : undefined
}

function read3164(body: string, now: number): Parts {
  const none = { version: null, hostname: null, appname: null, procid: null, msgid: null, structured_data: {} }
  const header = HEADER_3164.exec(body)?.groups
  const timestamp = header?.['iso'] ?? localTime(header?.['stamp'], now)
  const rest = header?.['rest'] ?? body
  const tagged = HOST_AND_TAG.exec(rest)?.groups
  // Without a timestamp, words before a colon are text.
  if (tagged === undefined || (header === undefined && tagged['pid'] === undefined))
    return { ...none, timestamp: timestamp ?? null, message: rest }
  const { host = null, tag = null, pid = null, text = '' } = tagged
  return { ...none, timestamp: timestamp ?? null, hostname: host, appname: tag, procid: pid, message: text }
}

const DAY_MS = 86_400_000

/** Returns `Nov 22 07:32:25` as RFC 3339, in the year that makes it the latest time not after tomorrow. */
function localTime(stamp: string | undefined, now: number): string | undefined {
  if (stamp === undefined) return undefined
  const year = new Date(now).getFullYear()
  for (const candidate of [year + 1, year, year - 1]) {
    const time = Date.parse(`${stamp.slice(0, 6)} ${candidate} ${stamp.slice(7)}`)
    if (Number.isNaN(time)) return undefined
    if (time <= now + DAY_MS) return new Date(time).toISOString()
  }
  return undefined
}
