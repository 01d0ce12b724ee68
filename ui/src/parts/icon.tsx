import alert from 'lucide-static/icons/triangle-alert.svg?raw'
import arrowDown from 'lucide-static/icons/arrow-down.svg?raw'
import arrowUp from 'lucide-static/icons/arrow-up.svg?raw'
import bot from 'lucide-static/icons/bot.svg?raw'
import boxes from 'lucide-static/icons/boxes.svg?raw'
import calendar from 'lucide-static/icons/calendar.svg?raw'
import chart from 'lucide-static/icons/chart-line.svg?raw'
import check from 'lucide-static/icons/check.svg?raw'
import chevronDown from 'lucide-static/icons/chevron-down.svg?raw'
import chevronRight from 'lucide-static/icons/chevron-right.svg?raw'
import circleHelp from 'lucide-static/icons/circle-question-mark.svg?raw'
import columns from 'lucide-static/icons/columns-3.svg?raw'
import copy from 'lucide-static/icons/copy.svg?raw'
import database from 'lucide-static/icons/database.svg?raw'
import dashboard from 'lucide-static/icons/layout-dashboard.svg?raw'
import download from 'lucide-static/icons/download.svg?raw'
import fileText from 'lucide-static/icons/file-text.svg?raw'
import filter from 'lucide-static/icons/list-filter.svg?raw'
import globe from 'lucide-static/icons/globe.svg?raw'
import grip from 'lucide-static/icons/grip-vertical.svg?raw'
import history from 'lucide-static/icons/history.svg?raw'
import key from 'lucide-static/icons/key-round.svg?raw'
import list from 'lucide-static/icons/list.svg?raw'
import lock from 'lucide-static/icons/lock.svg?raw'
import logs from 'lucide-static/icons/scroll-text.svg?raw'
import menu from 'lucide-static/icons/menu.svg?raw'
import monitor from 'lucide-static/icons/monitor.svg?raw'
import moon from 'lucide-static/icons/moon.svg?raw'
import more from 'lucide-static/icons/ellipsis.svg?raw'
import plus from 'lucide-static/icons/plus.svg?raw'
import refresh from 'lucide-static/icons/refresh-cw.svg?raw'
import search from 'lucide-static/icons/search.svg?raw'
import server from 'lucide-static/icons/server.svg?raw'
import settings from 'lucide-static/icons/settings.svg?raw'
import shield from 'lucide-static/icons/shield.svg?raw'
import shieldCheck from 'lucide-static/icons/shield-check.svg?raw'
import signOut from 'lucide-static/icons/log-out.svg?raw'
import sun from 'lucide-static/icons/sun.svg?raw'
import table from 'lucide-static/icons/table-2.svg?raw'
import trash from 'lucide-static/icons/trash-2.svg?raw'
import upload from 'lucide-static/icons/upload.svg?raw'
import user from 'lucide-static/icons/user.svg?raw'
import webhook from 'lucide-static/icons/webhook.svg?raw'
import workflow from 'lucide-static/icons/workflow.svg?raw'
import x from 'lucide-static/icons/x.svg?raw'
import zap from 'lucide-static/icons/zap.svg?raw'

/** The icons that the dashboard uses, by their names in Lucide. A new icon is an import and a row. */
const ICONS = {
  'triangle-alert': alert,
  'arrow-down': arrowDown,
  'arrow-up': arrowUp,
  bot,
  boxes,
  calendar,
  chart,
  check,
  'chevron-down': chevronDown,
  'chevron-right': chevronRight,
  'circle-help': circleHelp,
  columns,
  copy,
  database,
  'layout-dashboard': dashboard,
  download,
  'file-text': fileText,
  filter,
  globe,
  grip,
  history,
  key,
  list,
  lock,
  logs,
  menu,
  monitor,
  moon,
  more,
  plus,
  refresh,
  search,
  server,
  settings,
  shield,
  'shield-check': shieldCheck,
  'sign-out': signOut,
  sun,
  table,
  trash,
  upload,
  user,
  webhook,
  workflow,
  x,
  zap,
} as const

export type IconName = keyof typeof ICONS

const inner = (svg: string): string => svg.slice(svg.indexOf('>', svg.indexOf('<svg')) + 1, svg.lastIndexOf('</svg>'))

const DRAWN = Object.fromEntries(Object.entries(ICONS).map(([name, svg]) => [name, { __html: inner(svg) }]))

/** An icon beside a text, or in a button with a label. Screen readers skip it. */
export const Icon = ({ name, size = 16 }: { name: IconName; size?: number }) => (
  <svg
    width={size}
    height={size}
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    strokeWidth="2"
    strokeLinecap="round"
    strokeLinejoin="round"
    aria-hidden="true"
    dangerouslySetInnerHTML={DRAWN[name]}
  />
)
