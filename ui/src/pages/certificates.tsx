import { useRead } from '../hooks.ts'
import { Badge, Loaded, Panel, Time } from '../parts.tsx'
import { Table } from '../table.tsx'
import { usePlace } from '../place.ts'

interface Certificate {
  readonly names: readonly string[]
  readonly source: 'file' | 'acme'
  readonly not_after: string | null
  readonly failures: number
  readonly error: string | null
  readonly next_order: string | null
}

const DAY_MS = 86_400_000

/** Certificates of the HTTPS listener for the zone. */
export function Certificates() {
  const { ofZone } = usePlace()
  const read = useRead<readonly Certificate[]>(`${ofZone}/edged/certificates`, 30_000)
  return (
    <Panel title="Certificates for host names of the zone">
      <Loaded read={read}>
        {(certificates) => (
          <Table
            caption="Certificates"
            textOf={({ names }) => names.join(' ')}
            rows={certificates}
            empty="No certificate: HTTPS needs the section proxy.tls of the configuration."
            columns={[
              ['Names', ({ names }) => names.join(', ')],
              ['Source', ({ source }) => (source === 'acme' ? 'ACME' : 'file')],
              ['Valid until', ({ not_after: at }) => <Time at={at} />],
              ['State', (one) => <State {...one} />],
              ['Next order', ({ next_order: at }) => <Time at={at} />],
              ['Error', ({ error, failures }) => error && <span class="bad">{`${error} (${failures} failures)`}</span>],
            ]}
          />
        )}
      </Loaded>
    </Panel>
  )
}

function State({ not_after: at }: Certificate) {
  if (at === null) return <Badge good={false}>no certificate yet</Badge>
  const days = Math.floor((Date.parse(at) - Date.now()) / DAY_MS)
  return <Badge good={days >= 7}>{days < 0 ? 'expired' : `${days} days left`}</Badge>
}
