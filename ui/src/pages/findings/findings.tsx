import { PER_PAGE, useRead } from '../../api/queries.ts'
import { useAddress, useGo, useParam } from '../../address.tsx'
import { TextField, SelectField, Row } from '../../parts/fields.tsx'
import { number } from '../../parts/format.ts'
import { Page } from '../../parts/page.tsx'
import { Pager, usePageNumber } from '../../parts/pager.tsx'
import { Panel, Time } from '../../parts/panel.tsx'
import { Empty, Shown } from '../../parts/states.tsx'
import { DataTable, type Column } from '../../parts/table.tsx'
import { usePlace } from '../../place.tsx'
import { useSettled } from '../../settled.ts'
import { FindingSheet } from './finding-sheet.tsx'
import type { Finding } from './finding.ts'
import { Severity } from './severity.tsx'

const EVERY_MS = 15_000

const COLUMNS: readonly Column<Finding>[] = [
  { key: 'name', title: 'Finding', cell: ({ finding }) => finding.name, card: 'title' },
  { key: 'severity', title: 'Severity', cell: ({ finding }) => <Severity {...finding} />, width: 110, card: 'state' },
  { key: 'vendor', title: 'Vendor', cell: ({ finding }) => finding.vendor, width: 140 },
  {
    key: 'active',
    title: 'Active',
    cell: ({ active_count: active }) => number(active),
    numeric: true,
    width: 96,
    card: 'fact',
  },
  {
    key: 'latest',
    title: 'Latest',
    cell: ({ latest_affliction_date: at }) => <Time at={at || null} />,
    width: 140,
    card: 'fact',
  },
]

/** Weaknesses that scanners have reported. Their instances can be sent to webhooks. */
export default function Findings() {
  const { ofAccount } = usePlace()
  const go = useGo()
  const { rest, search: parameters } = useAddress()
  const [search, setSearch] = useParam('q')
  const [severity, setSeverity] = useParam('severity')
  const page = usePageNumber()
  const wanted = useSettled(search.trim())
  const query = new URLSearchParams({
    page: String(page),
    per_page: String(PER_PAGE),
    ...(wanted !== '' && { search: wanted }),
    ...(severity !== '' && { severity }),
  })
  const read = useRead<readonly Finding[]>(`${ofAccount}/data-security/posture/findings?${query}`, {
    every: EVERY_MS,
    keep: true,
  })
  const isFiltered = wanted !== '' || severity !== ''
  return (
    <Page>
      <Panel>
        <Shown read={read} what="the findings">
          {(findings) =>
            findings.length === 0 && !isFiltered ? (
              <Empty
                title="No findings"
                text="Scanners report findings to POST /accounts/…/edged/findings. Policies then send them to webhooks."
                docs="webhooks.html"
              />
            ) : (
              <>
                <Row>
                  <TextField
                    label="Find a finding"
                    hideLabel
                    type="search"
                    placeholder="Find a finding by its name"
                    value={search}
                    onChange={setSearch}
                  />
                  <SelectField
                    label="Severity"
                    hideLabel
                    value={severity}
                    options={[['', 'Every severity'], ...SEVERITIES.map((one) => [one, one] as const)]}
                    onChange={setSeverity}
                  />
                </Row>
                {findings.length === 0 ? (
                  <p className="soft">No finding matches.</p>
                ) : (
                  <DataTable
                    label="Findings"
                    rows={findings}
                    columns={COLUMNS}
                    keyOf={({ id }) => id}
                    nameOf={({ finding }) => finding.name}
                    onOpen={({ id }) => go({ rest: [id], search: parameters })}
                    isOff={({ ignored }) => ignored}
                  />
                )}
                <Pager total={read.info?.total_count ?? 0} what="the findings" />
              </>
            )
          }
        </Shown>
      </Panel>
      {rest[0] !== undefined && <FindingSheet id={rest[0]} onClose={() => go({ search: parameters })} />}
    </Page>
  )
}

const SEVERITIES = ['Critical', 'High', 'Medium', 'Low'] as const
