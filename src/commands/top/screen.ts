import type { Colours } from '../common/colours.js'
import { durationText } from '../common/durations.js'
import { cut, printable, widthOf } from '../common/text-width.js'
import { quantile, type Frame } from './frame.js'
import { increase, secondsOf, TABLES, type Row, type Table } from './tables.js'

/** State of the screen that keys change. */
export interface Screen {
  readonly table: number
  /** Column of each table that its rows are sorted by. */
  readonly sorts: readonly number[]
  readonly page: number
  readonly filter: string
  readonly isTyping: boolean
  readonly isPaused: boolean
  readonly showsHelp: boolean
}

export const FIRST_SCREEN: Screen = {
  table: 0,
  sorts: TABLES.map(({ sort }) => sort),
  page: 0,
  filter: '',
  isTyping: false,
  isPaused: false,
  showsHelp: false,
}

/** What is drawn besides the screen. */
export interface View {
  readonly rows: number
  readonly columns: number
  readonly now: Frame
  readonly before: Frame | undefined
  /** Local time of the last response, if the daemon does not respond any more. */
  readonly silentSince?: string | undefined
}

const HELP = [
  '1 2 3 4    zones, jobs and pipelines, Workers, webhooks',
  's          sort by the next column',
  '/          show only rows with a text; Enter keeps it, Esc clears it',
  '← →        page before, page after',
  'p          pause and go on',
  'q Ctrl+C   quit',
  '?          close this help',
]
const KEYS = 'q quit · s sort · / filter · 1 zones 2 jobs 3 Workers 4 webhooks · ←→ page · p pause · ? help'
const SHORT_KEYS = 'q quit · s sort · / filter · 1-4 tables · ←→ page · p pause · ? help'
/** Lines besides those of the table: head, titles, keys. */
const FRAME_LINES = 3

/** Returns the lines of the screen, never more than the terminal has, and the number of pages of the table. */
export function screenLines(screen: Screen, view: View, colours: Colours): { lines: string[]; pages: number } {
  const { rows: height, columns: width, now, before } = view
  const table = TABLES[screen.table]!
  const notice = noticeLine(view, colours)
  const room = Math.max(1, height - FRAME_LINES - (notice === undefined ? 0 : 1))
  const rows = sorted(matching(table.rows(now, before), screen.filter), screen.sorts[screen.table]!)
  const pages = Math.max(1, Math.ceil(rows.length / room))
  const page = Math.min(screen.page, pages - 1)
  const body = screen.showsHelp
    ? HELP.slice(0, room + 1).map((line) => cut(line, width))
    : tableLines(table, rows.slice(page * room, (page + 1) * room), screen, view, colours)
  const lines = [
    headLine(screen, view, `${page + 1}/${pages}`, colours),
    ...(notice === undefined ? [] : [notice]),
    ...body,
  ]
  const empty = Array.from({ length: Math.max(0, height - 1 - lines.length) }, () => '')
  const keys = width < widthOf(KEYS) ? SHORT_KEYS : KEYS
  const foot = screen.isTyping ? `/${screen.filter}_` : keys
  const all = [...lines.slice(0, Math.max(0, height - 1)), ...empty, colours.dim(cut(printable(foot), width))]
  return { lines: all.slice(-Math.max(1, height)), pages }
}

const sum = (frame: Frame | undefined, of: (zone: Frame['top']['zones'][number]) => number): number =>
  (frame?.top.zones ?? []).reduce((total, zone) => total + of(zone), 0)

function headLine(screen: Screen, { now, before, columns }: View, page: string, { bold }: Colours): string {
  const { top } = now
  const seconds = secondsOf(now, before)
  const requests = increase(
    sum(now, (zone) => zone.requests),
    sum(before, (zone) => zone.requests),
  )
  const errors = increase(
    sum(now, (zone) => zone.errors),
    sum(before, (zone) => zone.errors),
  )
  const slow = quantile(now, before, 0.95)
  const parts = [
    `edged ${top.version}`,
    top.ready ? `up ${durationText(top.uptime_seconds)}` : `not ready: ${now.status.reasons.join(', ')}`,
    `${(requests / seconds).toFixed(1)} req/s`,
    requests > 0 ? `${((100 * errors) / requests).toFixed(1)} % 5xx` : 'no requests',
    ...(slow === undefined ? [] : [`p95 ${Math.round(slow * 1000)} ms`]),
    ...(screen.filter === '' || screen.isTyping ? [] : [`only "${screen.filter}"`]),
    ...(screen.isPaused ? ['paused'] : []),
  ]
  const text = cut(printable(parts.join(' · ')), columns - page.length - 1)
  return `${bold(text)}${' '.repeat(Math.max(1, columns - widthOf(text) - page.length))}${page}`
}

/** Says what needs attention, or that the daemon does not respond. */
function noticeLine({ now, columns, silentSince }: View, { red, yellow }: Colours): string | undefined {
  if (silentSince !== undefined)
    return red(cut(`▲ no response from the daemon since ${silentSince}, trying again`, columns))
  const items = now.status.attention.map(({ severity, text }) => ({
    text: `▲ ${printable(text)}`,
    paint: severity === 'error' ? red : yellow,
  }))
  const [first, second] = items
  if (first === undefined) return undefined
  const more = (shown: number): string => (items.length > shown ? `   and ${items.length - shown} more` : '')
  if (second && widthOf(`${first.text}    ${second.text}${more(2)}`) <= columns)
    return `${first.paint(first.text)}    ${second.paint(second.text)}${more(2)}`
  return `${first.paint(cut(first.text, Math.max(1, columns - more(1).length)))}${columns > more(1).length + 1 ? more(1) : ''}`
}

const matching = (rows: readonly Row[], filter: string): Row[] =>
  rows.filter(({ cells }) => (cells[0]?.[0] ?? '').toLowerCase().includes(filter.toLowerCase()))

function sorted(rows: readonly Row[], column: number): Row[] {
  return [...rows].sort((a, b) => {
    const [left, right] = [a.cells[column]?.[1] ?? '', b.cells[column]?.[1] ?? '']
    if (typeof left === 'number' && typeof right === 'number' && left !== right) return right - left
    return String(left).localeCompare(String(right)) || String(a.cells[0]?.[1]).localeCompare(String(b.cells[0]?.[1]))
  })
}

const GAP = 2
const MIN_NAME = 12

/** The first column gets the columns of the terminal that the others leave. Columns that do not fit are left out. */
function tableLines(table: Table, rows: readonly Row[], screen: Screen, { columns }: View, colours: Colours): string[] {
  const sort = screen.sorts[screen.table]!
  const titles = table.titles.map((title, at) => (at === sort ? `${title}▾` : title))
  const cells = rows.map((row) => row.cells.map(([text]) => printable(text)))
  const widths = titles.map((title, at) => Math.max(widthOf(title), ...cells.map((row) => widthOf(row[at]!))))
  let count = widths.length
  const used = (): number => widths.slice(1, count).reduce((sum, width) => sum + width + GAP, 0)
  while (count > 1 && columns - used() < MIN_NAME) count -= 1
  widths[0] = Math.min(widths[0]!, columns - used())
  const line = (row: readonly string[]): string =>
    row
      .slice(0, count)
      .map((text, at) => {
        const shown = cut(text, widths[at]!)
        const padding = ' '.repeat(Math.max(0, widths[at]! - widthOf(shown)))
        return at === 0 || at === widths.length - 1 ? shown + padding : padding + shown
      })
      .join(' '.repeat(GAP))
      .trimEnd()
  const paint = { bad: colours.red, warn: colours.yellow, well: (text: string): string => text }
  const empty = screen.filter === '' ? 'nothing to show' : `nothing with "${printable(screen.filter)}"`
  return [
    colours.cyan(line(titles)),
    ...(rows.length === 0 ? [cut(empty, columns)] : cells.map((row, at) => paint[rows[at]!.state](line(row)))),
  ]
}

/** Returns the screen after a key, or undefined if it quits. `pages` is the number of pages of the table. */
export function pressed(screen: Screen, key: string, pages: number): Screen | undefined {
  if (key === '\u0003') return undefined
  if (screen.isTyping) return typed(screen, key)
  const number = '1234'.indexOf(key)
  if (key.length === 1 && number >= 0) return { ...screen, table: number, page: 0, showsHelp: false }
  switch (key) {
    case 'q':
      return undefined
    case 's': {
      const next = (screen.sorts[screen.table]! + 1) % TABLES[screen.table]!.titles.length
      return { ...screen, page: 0, sorts: screen.sorts.with(screen.table, next) }
    }
    case '/':
      return { ...screen, isTyping: true, filter: '', page: 0 }
    case 'p':
      return { ...screen, isPaused: !screen.isPaused }
    case '?':
      return { ...screen, showsHelp: !screen.showsHelp }
    case '\u001b':
      return { ...screen, showsHelp: false, filter: '', page: 0 }
    case '\u001b[C':
      return { ...screen, page: Math.min(screen.page + 1, pages - 1) }
    case '\u001b[D':
      return { ...screen, page: Math.max(0, Math.min(screen.page, pages - 1) - 1) }
    default:
      return screen
  }
}

const MAX_FILTER = 100

function typed(screen: Screen, key: string): Screen {
  if (key === '\r' || key === '\n') return { ...screen, isTyping: false }
  if (key === '\u001b') return { ...screen, isTyping: false, filter: '', page: 0 }
  if (key === '\u007f' || key === '\b') return { ...screen, filter: screen.filter.slice(0, -1) }
  if (/\p{Cc}/u.test(key)) return screen
  return { ...screen, filter: `${screen.filter}${key}`.slice(0, MAX_FILTER), page: 0 }
}
