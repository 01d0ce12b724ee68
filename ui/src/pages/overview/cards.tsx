import type { ReactNode } from 'react'
import { beforeOf, hitsOf, savedOf, useAnalytics, useTimeline, type Analytics, type Totals } from '../../analytics.ts'
import { bytes, ms, number, percent, short } from '../../parts/format.ts'
import { Sparkline } from '../../parts/sparkline.tsx'
import type { Range } from '../../range.ts'
import styles from './overview.module.css'

/** A number of the range, with how it differs from the range before. */
interface Card {
  readonly title: string
  /** Tooltip: what is counted. */
  readonly about: string
  readonly value: (totals: Totals) => number | null
  readonly text: (value: number | null, totals: Totals) => string
  /** How a change is written. `share`: percent of the old value. `points`: difference of two shares. */
  readonly change: 'share' | 'points'
  /** Whether more is better. Neither is better if it is undefined. */
  readonly isMoreBetter?: boolean
  readonly color: string
  readonly line: (totals: Totals) => number | null
  readonly below?: (totals: Totals) => string
}

const shareOf = (part: number, whole: number): number | null => (whole === 0 ? null : (100 * part) / whole)
const inPercent = (value: number | null): string => percent(value, 100)
const pagesOf = ({ markdown: { converted, refused, failed } }: Totals): number => converted + refused + failed

const CARDS: readonly Card[] = [
  {
    title: 'Requests',
    about: 'Requests that have finished',
    value: ({ requests }) => requests,
    text: (value) => (value !== null && value >= 1e6 ? short(value) : number(value)),
    change: 'share',
    color: '--accent',
    line: ({ requests }) => requests,
  },
  {
    title: 'Errors 5xx',
    about: 'Responses with status 5xx, of all requests',
    value: ({ errors, requests }) => shareOf(errors, requests),
    text: inPercent,
    change: 'points',
    isMoreBetter: false,
    color: '--bad',
    line: ({ errors }) => errors,
  },
  {
    title: 'p95',
    about: '95 of 100 requests were faster, from the first byte of the request to the last of the response',
    value: ({ duration_ms: { p95 } }) => p95,
    text: ms,
    change: 'share',
    isMoreBetter: false,
    color: '--warn',
    line: ({ duration_ms: { p95 } }) => p95,
  },
  {
    title: 'Cache hits',
    about: 'Requests that the cache answered, of all requests',
    value: (totals) => shareOf(hitsOf(totals), totals.requests),
    text: inPercent,
    change: 'points',
    isMoreBetter: true,
    color: '--info',
    line: hitsOf,
  },
  {
    title: 'Markdown',
    about: 'Pages that were converted to Markdown, and their share of the pages that were asked for as Markdown',
    value: ({ markdown }) => markdown.converted,
    text: (value) => (value !== null && value >= 1e6 ? short(value) : number(value)),
    change: 'share',
    color: '--ok',
    line: ({ markdown }) => markdown.converted,
    below: (totals) => (pagesOf(totals) === 0 ? '' : `${percent(totals.markdown.converted, pagesOf(totals))} of pages`),
  },
  {
    title: 'Saved',
    about: 'Bytes that the origins did not have to send, and bytes that HTML lost as Markdown',
    value: savedOf,
    text: bytes,
    change: 'share',
    color: '--accent',
    line: savedOf,
  },
]

export function Cards({ found, range }: { found: Analytics; range: Range }) {
  const before = useAnalytics(beforeOf(range)).value
  const timeline = useTimeline(found)
  // Without counts of the whole range before there is nothing to compare with.
  const old = before && before.totals.requests > 0 && isCovered(before) ? before.totals : undefined
  return (
    <dl className={styles['cards']}>
      {CARDS.map(({ title, about, value, text, line, color, below, ...rest }) => {
        const now = value(found.totals)
        return (
          <div key={title} title={about}>
            <dt>
              {title}
              <Sparkline
                values={timeline.valuesOf(found.points, line)}
                label={`${title} over time`}
                color={color}
                width={SPARK_PIXELS}
              />
            </dt>
            <dd className={styles['value']}>{text(now, found.totals)}</dd>
            <dd className={styles['below']}>
              {old && now !== null && <Change now={now} old={value(old)} {...rest} />}
              {below && <span>{below(found.totals)}</span>}
            </dd>
          </div>
        )
      })}
    </dl>
  )
}

const SPARK_PIXELS = 48
const COVERED_SHARE = 0.9

function isCovered({ since, until, coverage }: Analytics): boolean {
  const covered = coverage.reduce((sum, { from, to }) => sum + Date.parse(to) - Date.parse(from), 0)
  return covered > COVERED_SHARE * (Date.parse(until) - Date.parse(since))
}

const NO_CHANGE = 0.05

function Change({
  now,
  old,
  change,
  isMoreBetter,
}: {
  now: number
  old: number | null
  change: 'share' | 'points'
  isMoreBetter?: boolean
}): ReactNode {
  if (old === null || (change === 'share' && old === 0)) return null
  const difference = change === 'points' ? now - old : (100 * (now - old)) / old
  const size = number(Math.abs(Math.abs(difference) < 10 ? difference : Math.round(difference)))
  if (Math.abs(difference) < NO_CHANGE) return <span>as before</span>
  const isMore = difference > 0
  const tone = isMoreBetter === undefined ? undefined : isMore === isMoreBetter ? 'ok' : 'bad'
  return (
    <span className={tone} title="Against the same length of time before">
      <span aria-hidden="true">{isMore ? '▲' : '▼'}</span>
      <span className="visually-hidden">{isMore ? 'up' : 'down'}</span> {size} {change === 'share' ? '%' : 'points'}
    </span>
  )
}
