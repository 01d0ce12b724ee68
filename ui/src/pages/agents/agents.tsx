import { useAddress, useGo } from '../../address.tsx'
import { useAnalytics, type Analytics } from '../../analytics.ts'
import { useRead } from '../../api/queries.ts'
import { useColumns } from '../../parts/columns.tsx'
import { number, percent, short } from '../../parts/format.ts'
import { Page } from '../../parts/page.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty, Notice, Shown } from '../../parts/states.tsx'
import { usePlace } from '../../place.tsx'
import { useRange } from '../../range.ts'
import { useAccess } from './access.ts'
import { rowsOf, stepFor, type Agent } from './agent-data.ts'
import { AgentSheet } from './agent-sheet.tsx'
import { AgentChart } from './agent-chart.tsx'
import { AgentTable, columnsFor } from './agent-table.tsx'
import styles from './agents.module.css'

const CHARTED = 20

/** Who reads the site as a machine. */
export default function Agents() {
  const { ofZone } = usePlace()
  const { rest, search } = useAddress()
  const go = useGo()
  const range = useRange()
  const agents = useRead<readonly Agent[]>(`${ofZone}/edged/agents?${range.query}`, { keep: true })
  const step = stepFor(range.until.getTime() - range.since.getTime())
  const counts = useAnalytics({ by: 'agent', limit: CHARTED, step })
  const open = rest[0]
  return (
    <Page>
      <Shown read={agents} rows={10} what="the agents">
        {(found) =>
          found.length === 0 ? (
            <Panel>
              <Empty
                title="No agent in this time"
                text="AI agents and crawlers appear here with their first request, by the name that they give or sign."
                docs="agents.html"
              />
            </Panel>
          ) : (
            <div className={styles['page']}>
              <Summary agents={found} counts={counts.value} />
              {counts.value && <AgentChart found={counts.value} />}
              <Table agents={found} counts={counts.value} />
            </div>
          )
        }
      </Shown>
      {open !== undefined && (
        <AgentSheet
          name={open}
          agent={agents.value?.find(({ name }) => name === open)}
          onClose={() => go({ search })}
        />
      )}
    </Page>
  )
}

function Table({ agents, counts }: { agents: readonly Agent[]; counts: Analytics | undefined }) {
  const access = useAccess()
  const columns = columnsFor(access)
  const { hidden, chooser } = useColumns('agents', columns)
  return (
    <Panel title="Agents" docs="agents.html" actions={chooser}>
      {!access.mayChange && <Notice>Read only: needs Account WAF Write.</Notice>}
      <AgentTable rows={rowsOf(agents, counts?.groups ?? [])} columns={columns} hidden={hidden} />
    </Panel>
  )
}

const sumOf = (agents: readonly Agent[], member: 'requests' | 'markdown_requests' | 'tokens' | 'tokens_saved') =>
  agents.reduce((sum, agent) => sum + agent[member], 0)

function Summary({ agents, counts }: { agents: readonly Agent[]; counts: Analytics | undefined }) {
  const requests = sumOf(agents, 'requests')
  const facts = [
    [number(agents.length), agents.length === 1 ? 'agent' : 'agents'],
    [number(requests), counts ? `requests (${percent(requests, counts.totals.requests)} of all)` : 'requests'],
    [number(sumOf(agents, 'markdown_requests')), 'in Markdown'],
    [short(sumOf(agents, 'tokens')), 'tokens sent'],
    [short(sumOf(agents, 'tokens_saved')), 'tokens saved'],
  ]
  return (
    <p className={styles['summary']}>
      {facts.map(([value, name]) => (
        <span key={name}>
          <strong className="num">{value}</strong> {name}
        </span>
      ))}
    </p>
  )
}
