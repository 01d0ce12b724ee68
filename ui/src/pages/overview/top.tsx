import type { ReactNode } from 'react'
import { To, type To as ToAddress } from '../../address.tsx'
import { useAnalytics, type Group } from '../../analytics.ts'
import { number, percent } from '../../parts/format.ts'
import { Panel } from '../../parts/panel.tsx'
import { Shown } from '../../parts/states.tsx'
import styles from './overview.module.css'

const LIMIT = 8

/** Values with the most requests, each with a bar and a link. */
function Top({
  title,
  by,
  linkOf,
  none,
  more,
}: {
  title: string
  by: string
  linkOf: (group: Group) => ToAddress
  none: ReactNode
  more: ToAddress
}) {
  const read = useAnalytics({ by, limit: LIMIT, step: 86_400 })
  return (
    <Panel
      title={title}
      actions={
        <To to={more} aria-label={`All ${title.toLowerCase().replace('top ', '')}`}>
          All
        </To>
      }
    >
      <Shown read={read} rows={LIMIT} what={title.toLowerCase()}>
        {({ groups, totals }) =>
          groups.length === 0 ? (
            <p className="soft">{none}</p>
          ) : (
            <ol className={styles['top']}>
              {groups.map((group) => (
                <li key={group.key}>
                  <span
                    className={styles['bar']}
                    style={{ width: `${(100 * group.requests) / Math.max(groups[0]!.requests, 1)}%` }}
                  />
                  <To to={linkOf(group)} className="cut" title={group.name}>
                    {group.name}
                  </To>
                  <span className="num soft">{percent(group.requests, totals.requests)}</span>
                  <span className="num">{number(group.requests)}</span>
                </li>
              ))}
            </ol>
          )
        }
      </Shown>
    </Panel>
  )
}

export const TopAgents = () => (
  <Top
    title="Top agents"
    by="agent"
    none="No agent has sent a request in this time."
    more={{ page: 'agents' }}
    linkOf={({ key }) => ({ page: 'agents', rest: [key] })}
  />
)

export const TopPaths = () => (
  <Top
    title="Top paths"
    by="path"
    none="No request in this time."
    more={{ page: 'requests' }}
    linkOf={({ key }) => ({ page: 'requests', search: { path: key } })}
  />
)
