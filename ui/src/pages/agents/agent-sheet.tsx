import { useMemo } from 'react'
import { To, useParam } from '../../address.tsx'
import { useAnalytics, useTimeline, type Analytics, type Group } from '../../analytics.ts'
import { useRead } from '../../api/queries.ts'
import { Chart, type Series } from '../../parts/chart.tsx'
import { Segments } from '../../parts/fields.tsx'
import { bytes, categoryName, clock, digits, number, percent, short } from '../../parts/format.ts'
import { Code, Facts } from '../../parts/panel.tsx'
import { Sheet, SheetBody } from '../../parts/sheet.tsx'
import { Loading, Notice, Shown } from '../../parts/states.tsx'
import { usePlace } from '../../place.tsx'
import { useRange } from '../../range.ts'
import { useAccess } from './access.ts'
import { AccessCell } from './access-cell.tsx'
import { fileAccessOf, fileLines, rowsOf, stepFor, type Agent } from './agent-data.ts'
import { VerifiedState } from './agent-table.tsx'
import styles from './agents.module.css'

const PATHS = 20
const SHOWN_PATHS = 10
const LAST = 8

/** One agent: its trend, what it reads, its last requests and what it may. */
export function AgentSheet({ name, agent, onClose }: { name: string; agent: Agent | undefined; onClose: () => void }) {
  const range = useRange()
  const step = stepFor(range.until.getTime() - range.since.getTime())
  const read = useAnalytics({ by: 'path', filter: `agent:${name}`, limit: PATHS, step })
  return (
    <Sheet title={name} wide onClose={onClose}>
      <SheetBody>
        <div className={styles['sheet']}>
          {agent ? <About agent={agent} /> : <Notice>{name} has sent no request in this time.</Notice>}
          <Shown read={read} rows={6} what="the counts of the agent">
            {(found) => (
              <div className={styles['sheet']}>
                <Trend found={found} />
                <Paths found={found} name={name} />
              </div>
            )}
          </Shown>
          <LastRequests name={name} />
          {agent && fileAccessOf(agent) === undefined && <FileAccess name={name} />}
        </div>
      </SheetBody>
    </Sheet>
  )
}

function About({ agent }: { agent: Agent }) {
  const access = useAccess()
  const { verified, charged } = agent
  const [row] = rowsOf([agent], [])
  const paid = Object.entries(charged).map(([currency, amount]) => `${amount} ${currency}`)
  return (
    <Facts
      rows={[
        ['Operator', agent.operator],
        ['Category', categoryName(agent.category)],
        [
          'Verified',
          <>
            <VerifiedState agent={row} />{' '}
            <span className="soft">
              {number(verified.signature)} by signature, {number(verified.address)} by address, {number(verified.none)}{' '}
              not
            </span>
          </>,
        ],
        ['Requests', `${number(agent.requests)}, ${percent(agent.markdown_requests, agent.requests)} in Markdown`],
        ['Sent', `${bytes(agent.bytes)}, ${short(agent.tokens)} tokens, ${short(agent.tokens_saved)} saved`],
        paid.length > 0 ? ['Agreed to pay', paid.join(', ')] : undefined,
        ['Access', <AccessCell agent={agent} access={access} />],
      ]}
    />
  )
}

function Trend({ found }: { found: Analytics }) {
  const timeline = useTimeline(found)
  const series = useMemo<readonly Series[]>(
    () => [
      {
        key: 'requests',
        label: 'Requests',
        color: '--accent',
        values: timeline.ratesOf(found.points, ({ requests }) => requests),
        total: number(found.totals.requests),
      },
      {
        key: 'markdown',
        label: 'Markdown',
        color: '--ok',
        values: timeline.ratesOf(found.points, ({ markdown }) => markdown.converted),
        total: number(found.totals.markdown.converted),
      },
    ],
    [found, timeline],
  )
  return <Chart {...timeline} title="Requests/s" series={series} format={digits} height={140} />
}

function Paths({ found: { groups }, name }: { found: Analytics; name: string }) {
  const refused = groups.filter(({ markdown }) => markdown.refused + markdown.failed > 0)
  return (
    <>
      <section>
        <h3>Top paths</h3>
        <PathList name={name} groups={groups.slice(0, SHOWN_PATHS)} value={({ requests }) => number(requests)} />
      </section>
      {refused.length > 0 && (
        <section>
          <h3>Not converted</h3>
          <p className="soft">
            These pages were sent as HTML: they are not HTML, too large, or the converter could not read them. See as
            Markdown says why.
          </p>
          <PathList
            name={name}
            groups={refused}
            value={({ markdown }) => number(markdown.refused + markdown.failed)}
            isMarkdown
          />
        </section>
      )}
    </>
  )
}

const PathList = ({
  groups,
  name,
  value,
  isMarkdown = false,
}: {
  groups: readonly Group[]
  name: string
  value: (group: Group) => string
  isMarkdown?: boolean
}) =>
  groups.length === 0 ? (
    <p className="soft">None.</p>
  ) : (
    <ul className={styles['paths']}>
      {groups.map((group) => (
        <li key={group.key}>
          <To
            className="cut"
            title={group.key}
            to={
              isMarkdown
                ? { page: 'markdown', search: { url: group.key } }
                : { page: 'requests', search: { agent: name, path: group.key } }
            }
          >
            {group.key}
          </To>
          <span className="num">{value(group)}</span>
        </li>
      ))}
    </ul>
  )

interface LastRequest {
  readonly ray_id: string
  readonly at: string
  readonly method: string
  readonly path: string
  readonly status: number
}

function LastRequests({ name }: { name: string }) {
  const { ofZone, may } = usePlace()
  const filter = encodeURIComponent(`edged.agent.name eq "${name.replace(/["\\]/g, '\\$&')}"`)
  const mayRead = may('Logs Read') || may('Logs Write')
  const { value } = useRead<readonly LastRequest[]>(
    mayRead ? `${ofZone}/edged/requests?limit=${LAST}&filter=${filter}` : undefined,
  )
  if (!mayRead) return null
  return (
    <section>
      <h3>Last requests</h3>
      {value === undefined ? (
        <Loading rows={3} />
      ) : (
        <ul className={styles['paths']}>
          {value.map(({ ray_id: ray, at, method, path, status }) => (
            <li key={ray}>
              <span className="num soft">{clock(at)}</span>
              <To className="cut" to={{ page: 'requests', rest: [ray] }}>
                {method} {path}
              </To>
              <span className="num">{status}</span>
            </li>
          ))}
        </ul>
      )}
      <p>
        <To to={{ page: 'requests', search: { agent: name } }}>All requests of {name}</To>
      </p>
    </section>
  )
}

/** Two kinds of access are written in the file alone: shows the lines. */
function FileAccess({ name }: { name: string }) {
  const [kind, setKind] = useParam('kind', 'markdown')
  return (
    <section>
      <h3>Markdown only, or pay</h3>
      <p className="soft">
        These are written in the configuration file, below the zone. Rules of the zone act before them.
      </p>
      <Segments
        label="Access"
        value={kind}
        options={[
          ['markdown', 'Markdown only'],
          ['pay', 'Pay'],
        ]}
        onChange={setKind}
      />
      <Code label="Lines of the configuration file" text={fileLines(name, kind === 'pay' ? 'pay' : 'markdown')} />
    </section>
  )
}
