import { useRead } from '../../api/queries.ts'
import { To, type To as ToAddress } from '../../address.tsx'
import { count } from '../../parts/format.ts'
import { Panel, Time } from '../../parts/panel.tsx'
import { usePlace, useZones, type Place } from '../../place.tsx'
import { Icon } from '../../parts/icon.tsx'
import { attentionText } from './attention-text.ts'
import styles from './overview.module.css'

interface Item {
  readonly kind: string
  readonly severity: 'error' | 'warning'
  readonly since: string | null
  readonly text: string
  readonly zone_id: string | null
  readonly object: { readonly type: string; readonly id: string; readonly name: string }
}

const ATTENTION_MS = 10_000

/** Pages of objects, by their type. Those of zones have no scope. */
const PAGES: Readonly<Record<string, { readonly page: string; readonly ofAccount?: true; readonly opens?: true }>> = {
  job: { page: 'logs', ofAccount: true, opens: true },
  pipeline: { page: 'pipelines', ofAccount: true, opens: true },
  webhook: { page: 'webhooks', ofAccount: true, opens: true },
  worker: { page: 'workers', ofAccount: true, opens: true },
  spool: { page: 'logs', ofAccount: true },
  origin: { page: 'origins' },
  zone: { page: 'origins' },
  certificate: { page: 'certificates' },
  phase: { page: 'rules', opens: true },
}

function targetOf({ object, zone_id: zoneId }: Item, place: Place, zones: ReadonlyMap<string, string>): ToAddress {
  const { page, ofAccount, opens } = PAGES[object.type] ?? { page: 'zones', ofAccount: true }
  const rest = opens ? [object.type === 'pipeline' ? object.name : object.id] : []
  if (ofAccount || zoneId === null) return { scope: 'a', place: place.account.id, page, rest }
  return { scope: 'z', place: zones.get(zoneId) ?? zoneId, page, rest }
}

/** What somebody should look at now. Nothing is drawn if all is well. */
export function Attention() {
  const place = usePlace()
  const { value = [] } = useRead<readonly Item[]>(`${place.ofAccount}/edged/attention`, { every: ATTENTION_MS })
  const zones = new Map((useZones().value ?? []).map(({ id, name }) => [id, name]))
  const items = place.zone ? value.filter(({ zone_id: id }) => id === null || id === place.zone!.id) : value
  if (items.length === 0) return null
  return (
    <Panel title={`Needs attention (${items.length})`}>
      <ul className={styles['attention']} aria-label={count(items.length, 'thing')}>
        {items.map((item) => (
          <li key={`${item.kind} ${item.object.id} ${item.text}`} data-severity={item.severity}>
            <Icon name={item.severity === 'error' ? 'x' : 'triangle-alert'} />
            <span className={styles['attentionText']}>
              <span className="visually-hidden">{item.severity}: </span>
              {attentionText(item.text)}
            </span>
            {item.since !== null && (
              <span className="soft">
                since <Time at={item.since} />
              </span>
            )}
            <To
              to={targetOf(item, place, zones)}
              className={styles['openLink']}
              aria-label={`Open ${item.object.name}`}
            >
              Open
            </To>
          </li>
        ))}
      </ul>
    </Panel>
  )
}
