import { useRead } from '../hooks.ts'
import { Loaded, Panel, Time } from '../parts.tsx'
import { Table } from '../table.tsx'
import { usePlace } from '../place.ts'

interface Entry {
  readonly at: string
  readonly actor: { readonly type: string; readonly id: string; readonly name?: string }
  readonly action: string
  readonly resource: { readonly kind: string; readonly id: string; readonly zone_id: string | null }
  readonly request_id: string
}

/** The newest changes of the account. */
export function Audit() {
  const { ofAccount } = usePlace()
  const read = useRead<readonly Entry[]>(`${ofAccount}/edged/audit?limit=500`, 15_000)
  return (
    <Panel title="Changes, newest first">
      <Loaded read={read}>
        {(entries) => (
          <Table
            caption="Changes"
            rows={entries}
            textOf={(entry) => JSON.stringify(entry)}
            empty="No changes."
            columns={[
              ['Time', ({ at }) => <Time at={at} />],
              ['By', ({ actor }) => actor.name ?? `${actor.type} ${actor.id}`],
              ['Change', ({ action, resource }) => `${action} ${resource.kind}`],
              ['Resource', ({ resource }) => <code>{resource.id}</code>],
              ['Request', ({ request_id: id }) => <code>{id}</code>],
            ]}
          />
        )}
      </Loaded>
    </Panel>
  )
}
