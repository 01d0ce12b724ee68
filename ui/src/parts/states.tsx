import { useEffect, useState, type ReactNode } from 'react'
import type { Read } from '../api/queries.ts'
import { Button } from './button.tsx'
import { clock } from './format.ts'
import { Icon } from './icon.tsx'
import styles from './states.module.css'

/** Responses within this time show no skeleton. */
const SKELETON_MS = 150

/** Grey bars with about the height of the content that will follow. */
export function Loading({ rows = 6, label = 'Loading' }: { rows?: number; label?: string }) {
  const [isShown, setShown] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), SKELETON_MS)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div className={styles['loading']} role="status" aria-label={label}>
      {Array.from({ length: rows }, (_, at) => (
        <span key={at} className={styles['bar']} hidden={!isShown} />
      ))}
    </div>
  )
}

/** What the page is for, when it has nothing yet: one sentence, one button, one link. */
export const Empty = ({
  title,
  text,
  action,
  docs,
}: {
  title: string
  text?: ReactNode
  action?: ReactNode
  docs?: string
}) => (
  <div className={styles['empty']}>
    <h2>{title}</h2>
    {text && <p className="soft">{text}</p>}
    {action}
    {docs && (
      <a href={`/docs/${docs}`} target="_blank" rel="noreferrer">
        Read more
      </a>
    )}
  </div>
)

/** An error in place of content: what failed, why, and how to go on. `isPage`: it stands for the whole page. */
export const Problem = ({
  title,
  text,
  retry,
  isPage = false,
}: {
  title: string
  text?: ReactNode
  retry?: () => void
  isPage?: boolean
}) => (
  <div className={styles['problem']} role="alert">
    <Icon name="triangle-alert" size={20} />
    <div>
      {isPage ? <h1>{title}</h1> : <h2>{title}</h2>}
      {text && <p className="soft">{text}</p>}
      {retry && <Button onClick={retry}>Try again</Button>}
    </div>
  </div>
)

/** A note in the page. `warn` and `bad` have an icon, so the colour is not the only sign. */
export const Notice = ({
  kind = 'info',
  children,
  action,
}: {
  kind?: 'info' | 'warn' | 'bad' | 'ok'
  children: ReactNode
  action?: ReactNode
}) => (
  <div className={styles['notice']} data-kind={kind} role={kind === 'bad' ? 'alert' : undefined}>
    <Icon name={kind === 'ok' ? 'check' : kind === 'info' ? 'circle-help' : 'triangle-alert'} />
    <div>{children}</div>
    {action}
  </div>
)

const CLIENT_ERROR = 400
const NOT_ALLOWED = 403

/**
 * Shows a value that is read: a skeleton before it, the reason if it cannot be read, and a note over the last value while the
 * daemon does not answer.
 */
export function Shown<T>({
  read,
  rows,
  what,
  children,
}: {
  read: Read<T>
  rows?: number
  what: string
  children: (value: T) => ReactNode
}) {
  const { value, error, status, at, reload } = read
  if (value === undefined) {
    if (error === undefined) return <Loading {...(rows !== undefined && { rows })} label={`Loading ${what}`} />
    if (status === NOT_ALLOWED) return <Problem title={`This token may not see ${what}`} text={error} />
    return <Problem title={`${what[0]!.toUpperCase()}${what.slice(1)} could not be read`} text={error} retry={reload} />
  }
  const isStale = error !== undefined && (status === undefined || status < CLIENT_ERROR || status > 499)
  return (
    <>
      {error !== undefined && (
        <Notice kind="warn">{isStale ? `No answer from the daemon since ${clock(at)}. Retrying.` : error}</Notice>
      )}
      <div className={error === undefined ? undefined : styles['stale']}>{children(value)}</div>
    </>
  )
}
