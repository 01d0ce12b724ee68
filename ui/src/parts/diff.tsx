import { useMemo } from 'react'
import { diffLines } from './diff.ts'
import styles from './diff.module.css'

const SIGNS = { same: ' ', added: '+', removed: '-' } as const

/** Two texts compared by lines. The sign says what happened to a line, beside the colour. */
export function Diff({ before, after, label }: { before: string; after: string; label: string }) {
  const lines = useMemo(() => diffLines(before, after), [before, after])
  if (before === after) return <p className="soft">No difference.</p>
  return (
    <pre className={styles['diff']} tabIndex={0} role="region" aria-label={label}>
      {lines.map(({ kind, text }, at) => (
        <span key={at} data-kind={kind}>
          {SIGNS[kind]} {text}
          {'\n'}
        </span>
      ))}
    </pre>
  )
}
