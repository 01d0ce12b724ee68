import { useParam } from '../address.tsx'
import { PER_PAGE } from '../api/queries.ts'
import { Button } from './button.tsx'
import { number } from './format.ts'
import styles from './live-records.module.css'

/** The page of a list that the address names, from 1. */
export function usePageNumber(): number {
  const [page] = useParam('page', '1')
  const wanted = Number(page)
  return Number.isInteger(wanted) && wanted > 0 ? wanted : 1
}

/** Buttons for the pages of a list. Nothing is drawn for a list of one page. */
export function Pager({ total, what }: { total: number; what: string }) {
  const page = usePageNumber()
  const [, setPage] = useParam('page', '1')
  if (total <= PER_PAGE) return null
  const first = (page - 1) * PER_PAGE + 1
  return (
    <nav className={styles['bar']} aria-label={`Pages of ${what}`}>
      <span className="soft num">
        {number(first)} to {number(Math.min(page * PER_PAGE, total))} of {number(total)}
      </span>
      <Button size="small" disabled={page === 1} onClick={() => setPage(String(page - 1))}>
        Newer
      </Button>
      <Button size="small" disabled={page * PER_PAGE >= total} onClick={() => setPage(String(page + 1))}>
        Older
      </Button>
    </nav>
  )
}
