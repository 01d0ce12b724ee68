import { useAnalytics, useTimeline, type Analytics } from '../../analytics.ts'
import { To } from '../../address.tsx'
import { Chart, type Series } from '../../parts/chart.tsx'
import { digits, number, percent, short } from '../../parts/format.ts'
import { Page } from '../../parts/page.tsx'
import { Facts, Panel } from '../../parts/panel.tsx'
import { TopicSettings } from '../../parts/setting/topic-settings.tsx'
import { Notice, Shown } from '../../parts/states.tsx'
import { usePlace } from '../../place.tsx'
import { Preview } from './preview.tsx'
import styles from './markdown.module.css'

/** What agents get as Markdown: the settings, a preview of a page, and how much of it was sent. */
export default function Markdown() {
  const { may } = usePlace()
  const found = useAnalytics()
  return (
    <Page>
      {!may('Zone Settings Write') && <Notice>Read only: needs Zone Settings Write.</Notice>}
      <Preview />
      <Panel title="Sent as Markdown">
        <Shown read={found} what="the counts">
          {(value) => <Sent found={value} />}
        </Shown>
        <p className="soft">
          <To to={{ page: 'agents' }}>Agents</To> has who asked for it, and who may.
        </p>
      </Panel>
      <Panel title="Settings" docs="markdown.html">
        <TopicSettings topic="Markdown" />
      </Panel>
    </Page>
  )
}

const OUTCOMES = [
  ['converted', 'Converted', '--ok'],
  ['refused', 'Not convertible', '--warn'],
  ['failed', 'Failed', '--bad'],
] as const

function Sent({ found }: { found: Analytics }) {
  const timeline = useTimeline(found)
  const { converted, refused, failed, tokens, html_tokens: before } = found.totals.markdown
  const series = OUTCOMES.map(([key, label, color]): Series => ({
    key,
    label,
    color,
    values: timeline.ratesOf(found.points, ({ markdown }) => markdown[key]),
    total: number(found.totals.markdown[key]),
  }))
  return (
    <div className={styles['sent']}>
      <Facts
        rows={[
          ['Converted', `${number(converted)} (${percent(converted, converted + refused + failed)} of pages)`],
          ['Tokens', `${short(before)} as HTML → ${short(tokens)} as Markdown`],
          ['Saved', percent(Math.max(0, before - tokens), before)],
        ]}
      />
      <Chart
        {...timeline}
        title="Pages/s asked for as Markdown"
        series={series}
        format={digits}
        isStacked
        height={140}
      />
    </div>
  )
}
