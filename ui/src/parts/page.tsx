import { createContext, use, useEffect, useRef, type ReactNode } from 'react'
import type { PageRow } from '../page-row.ts'
import { Icon } from './icon.tsx'
import styles from './page.module.css'

export const PageContext = createContext<PageRow | undefined>(undefined)

/**
 * A page: its title with buttons on the right, then its content. The title gets the focus when the page opens, so that
 * screen readers say where they are. `wide` uses the whole width.
 */
export function Page({
  title,
  note,
  actions,
  children,
}: {
  title?: string
  note?: ReactNode
  actions?: ReactNode
  children: ReactNode
}) {
  const page = use(PageContext)
  const head = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    // A side sheet that is open from the start has the focus already.
    if (!document.querySelector('[role=dialog]')) head.current?.focus({ preventScroll: true })
  }, [])
  return (
    <>
      <header className={styles['title']}>
        <h1 ref={head} tabIndex={-1}>
          {title ?? page?.title}
        </h1>
        {page && (
          <a
            className={styles['help']}
            href={`/docs/${page.docs}`}
            target="_blank"
            rel="noreferrer"
            aria-label={`Manual: ${page.title}`}
            title="Manual"
          >
            <Icon name="circle-help" />
          </a>
        )}
        {note}
        <div className={styles['actions']}>{actions}</div>
      </header>
      {children}
    </>
  )
}
