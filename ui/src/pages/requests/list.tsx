import type { ReactNode } from 'react'
import { bytes, clock, ms, when } from '../../parts/format.ts'
import { Icon } from '../../parts/icon.tsx'
import { useIsNarrow } from '../../parts/narrow.ts'
import { DataTable, type Column } from '../../parts/table.tsx'
import type { FilterName } from './request-filters.ts'
import type { RequestItem } from './types.ts'
import styles from './requests.module.css'

const DAY_MS = 86_400_000

/** `18:02:11.482`, with the day for other days. */
export function exactTime(at: string): string {
  const isToday = new Date(at).toDateString() === new Date().toDateString()
  const day = isToday || Date.now() - Date.parse(at) < 0 ? '' : `${when(at, Date.now() + DAY_MS).slice(0, 6)} `
  return `${day}${clock(at)}.${String(new Date(at).getMilliseconds()).padStart(3, '0')}`
}

const TONES: Readonly<Record<string, string>> = { 2: 'ok', 3: 'info', 4: 'warn', 5: 'bad' }
export const toneOf = (status: number): string => TONES[String(status)[0]!] ?? 'soft'

/** A value that filters the list by itself. */
function Value({ onClick, label, children }: { onClick: () => void; label: string; children: ReactNode }) {
  // On a phone a tap anywhere opens the request.
  if (useIsNarrow()) return children
  return (
    <button type="button" className={styles['value']} title={`Show only ${label}`} onClick={onClick}>
      {children}
    </button>
  )
}

type Set = (name: FilterName, value: string) => void

export const columnsFor = (set: Set, zone: string): readonly Column<RequestItem>[] => [
  {
    key: 'at',
    title: 'Time',
    width: 116,
    card: 'fact',
    cell: ({ at }) => (
      <time className="num" dateTime={at} title={at}>
        {exactTime(at)}
      </time>
    ),
  },
  {
    key: 'status',
    title: 'Status',
    width: 96,
    card: 'state',
    cell: ({ status }) => (
      <Value label={`status ${status}`} onClick={() => set('status', String(status))}>
        <strong className={`num ${toneOf(status)}`}>{status}</strong>
      </Value>
    ),
  },
  {
    key: 'path',
    title: 'Request',
    width: 180,
    fill: true,
    card: 'title',
    cell: ({ method, host, path, query }) => (
      <span className={styles['request']} title={`${method} ${host}${path}${query}`}>
        <Value label={method} onClick={() => set('method', method)}>
          {method}
        </Value>
        {host !== zone && <span className={styles['host']}>{host}</span>}
        <span className={styles['path']}>
          {path}
          <span className="soft">{query}</span>
        </span>
      </span>
    ),
  },
  {
    key: 'cache',
    title: 'Cache',
    width: 108,
    cell: ({ cache_status: cache }) =>
      cache === null ? (
        <span className="soft">–</span>
      ) : (
        <Value label={cache} onClick={() => set('cache', cache)}>
          {cache}
        </Value>
      ),
  },
  {
    key: 'markdown',
    title: 'Markdown',
    width: 96,
    cell: ({ markdown }) =>
      markdown === null ? (
        <span className="soft">–</span>
      ) : (
        <span className={markdown === 'converted' ? 'ok' : 'warn'}>{markdown}</span>
      ),
  },
  {
    key: 'duration',
    title: 'Duration',
    width: 96,
    numeric: true,
    card: 'fact',
    cell: ({ duration_ms: duration }) => ms(duration),
  },
  {
    key: 'size',
    title: 'Size',
    width: 96,
    numeric: true,
    optional: true,
    cell: ({ bytes: size }) => bytes(size),
  },
  {
    key: 'agent',
    title: 'Agent',
    width: 130,
    cell: ({ agent, agent_verified: verified }) =>
      agent === null ? (
        <span className="soft">–</span>
      ) : (
        <Value label={agent} onClick={() => set('agent', agent)}>
          {agent} {verified !== 'none' && <Verified by={verified!} />}
        </Value>
      ),
  },
  {
    key: 'client',
    title: 'Client',
    width: 136,
    cell: ({ client_ip: ip, country }) => (
      <>
        <Value label={ip} onClick={() => set('ip', ip)}>
          <span className="num">{ip}</span>
        </Value>{' '}
        {country !== null && (
          <Value label={country} onClick={() => set('country', country)}>
            <span className="soft">{country}</span>
          </Value>
        )}
      </>
    ),
  },
  { key: 'ray', title: 'Ray id', width: 150, optional: true, cell: ({ ray_id: ray }) => <code>{ray}</code> },
]

export const Verified = ({ by }: { by: string }) => (
  <span className="ok" title={`Verified by ${by}`}>
    <Icon name="check" size={12} />
    <span className="visually-hidden">verified by {by}</span>
  </span>
)

/** Requests, newest first. A click on an underlined value filters by it, a click elsewhere opens the request. */
export const RequestList = ({
  rows,
  columns,
  hidden,
  onOpen,
}: {
  rows: readonly RequestItem[]
  columns: readonly Column<RequestItem>[]
  hidden: readonly string[]
  onOpen: (row: RequestItem) => void
}) => (
  <DataTable
    label="Requests"
    rows={rows}
    columns={columns}
    hidden={hidden}
    keyOf={({ ray_id: ray }) => ray}
    onOpen={onOpen}
    nameOf={({ method, path, status, at }) => `${exactTime(at)} ${method} ${path}, ${status}`}
  />
)
