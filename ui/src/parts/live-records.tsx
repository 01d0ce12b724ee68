import { useMemo, useState } from 'react'
import type { Live, LiveLine } from '../live.ts'
import { Button } from './button.tsx'
import { clock, count } from './format.ts'
import { Code, State } from './panel.tsx'
import styles from './live-records.module.css'

/** Columns of the table. The open record shows all members. */
const COLUMNS = 5

type Members = Readonly<Record<string, unknown>>

/** The state of a live session, with its buttons. */
export const LiveBar = ({ live, what, onStop }: { live: Live; what: string; onStop?: () => void }) => (
  <div className={styles['bar']}>
    <span aria-live="polite">
      {live.state === 'live' && <State tone="ok">Live</State>}
      {live.state === 'starting' && <State tone="off">Starting</State>}
      {live.state === 'ended' && <State tone="warn">Ended: {live.reason}</State>}
      {live.state === 'off' && <State tone="off">Stopped</State>}
      {live.total > 0 && <span className="soft"> · {count(live.total, what)}</span>}
    </span>
    {live.total > 0 && (
      <Button size="small" kind="quiet" onClick={live.clear}>
        Clear
      </Button>
    )}
    {live.state === 'ended' && (
      <Button size="small" onClick={live.again}>
        Start again
      </Button>
    )}
    {live.state === 'live' && onStop && (
      <Button size="small" onClick={onStop}>
        Stop
      </Button>
    )}
  </div>
)

/** Records as they come, newest first. A click on one shows all of its members. */
export function LiveRecords({ live, what = 'record', waits }: { live: Live; what?: string; waits: string }) {
  const [open, setOpen] = useState<LiveLine>()
  const rows = useMemo(() => live.lines.map((line) => ({ line, members: membersOf(line.text) })), [live.lines])
  const newest = rows[0]?.members
  const keys = useMemo(() => Object.keys(newest ?? {}).slice(0, COLUMNS), [newest])
  return (
    <>
      <LiveBar live={live} what={what} />
      {rows.length === 0 && live.state !== 'ended' && <p className="soft">{waits}</p>}
      {rows.length > 0 && newest === undefined && (
        <pre className={styles['lines']} tabIndex={0} aria-label={`Live ${what}s`} role="region">
          {rows.map(({ line }) => line.text).join('\n')}
        </pre>
      )}
      {newest !== undefined && (
        <div className={styles['lines']} role="region" aria-label={`Live ${what}s`} tabIndex={0}>
          <table>
            <thead>
              <tr>
                {keys.map((key) => (
                  <th key={key} scope="col">
                    {key}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map(({ line, members }) => (
                <tr key={line.id} data-chosen={line === open || undefined}>
                  {keys.map((key, at) => (
                    <td key={key}>
                      {at === 0 ? (
                        <button
                          type="button"
                          aria-expanded={line === open}
                          aria-label={`${textOf(members?.[key])}, whole ${what} of ${clock(line.at)}`}
                          onClick={() => setOpen(line === open ? undefined : line)}
                        >
                          {textOf(members?.[key])}
                        </button>
                      ) : (
                        textOf(members?.[key])
                      )}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {open && <Code label={`Whole ${what}`} text={JSON.stringify(membersOf(open.text), null, 2)} />}
    </>
  )
}

function membersOf(text: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : undefined
  } catch {
    return undefined
  }
}

const textOf = (value: unknown): string =>
  value === undefined || value === null ? '–' : typeof value === 'string' ? value : JSON.stringify(value)
