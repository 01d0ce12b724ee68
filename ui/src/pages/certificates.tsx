import { useRead } from '../hooks.ts'
import { Badge, Loaded, Panel, Time } from '../parts.tsx'
import { Table } from '../table.tsx'
import { usePlace } from '../place.ts'

interface Certificate {
  readonly names: readonly string[]
  readonly source: 'file' | 'acme' | 'missing'
  readonly not_after: string | null
  readonly failures: number
  readonly error: string | null
  readonly next_order: string | null
  readonly why?: string
  readonly write?: string
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
              ['Source', ({ source }) => SOURCES[source]],
              ['Valid until', ({ not_after: at }) => <Time at={at} />],
              ['State', (one) => <State {...one} />],
              ['Next order', ({ next_order: at }) => <Time at={at} />],
              ['Error', (one) => <Fault {...one} />],
            ]}
          />
        )}
      </Loaded>
    </Panel>
  )
}

const SOURCES = { acme: 'ACME', file: 'file', missing: 'none' } as const

function Fault({ error, failures, why, write }: Certificate) {
  if (why !== undefined) return <span class="bad">{`${why}; add ${write}`}</span>
  return error === null ? null : <span class="bad">{`${error} (${failures} failures)`}</span>
}

function State({ not_after: at, source }: Certificate) {
  if (source === 'missing') return <Badge good={false}>no certificate</Badge>
  if (at === null) return <Badge good={false}>no certificate yet</Badge>
  const days = Math.floor((Date.parse(at) - Date.now()) / DAY_MS)
  return <Badge good={days >= 7}>{days < 0 ? 'expired' : `${days} days left`}</Badge>
}
