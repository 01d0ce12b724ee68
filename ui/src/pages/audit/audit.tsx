import { useMemo } from 'react'
import { useRead } from '../../api/queries.ts'
import { useAddress, useGo, useParam } from '../../address.tsx'
import { SelectField, TextField, type Option } from '../../parts/fields.tsx'
import { Page } from '../../parts/page.tsx'
import { when } from '../../parts/format.ts'
import { Facts, Panel, Time } from '../../parts/panel.tsx'
import { Sheet, SheetBody } from '../../parts/sheet.tsx'
import { Empty, Shown } from '../../parts/states.tsx'
import { DataTable, type Column } from '../../parts/table.tsx'
import { usePlace } from '../../place.tsx'
import { DifferenceTable } from './difference-table.tsx'
import { sentenceOf, shortDifference, titled, type Entry } from './entry.ts'
import styles from './audit.module.css'

const EVERY_MS = 15_000
/** Changes that the page reads, newest first. */
const LIMIT = 500

const actorOf = ({ actor }: Entry): string => actor.name ?? `${actor.type} ${actor.id}`
const keyOf = ({ request_id: id, object }: Entry): string => `${id}-${object.id}`

const COLUMNS: readonly Column<Entry>[] = [
  { key: 'at', title: 'Time', cell: ({ at }) => <Time at={at} />, sort: ({ at }) => at, width: 120, card: 'state' },
  { key: 'who', title: 'Who', cell: actorOf, sort: actorOf, width: 160, card: 'fact' },
  { key: 'what', title: 'Change', cell: sentenceOf, card: 'title' },
  {
    key: 'difference',
    title: 'Values',
    cell: (entry) => shortDifference(entry) && <code>{shortDifference(entry)}</code>,
    card: 'fact',
  },
]

interface Setting {
  readonly id: string
  readonly title: string
}

/** Reads the titles of settings, from the zone of the first one that was changed. The titles of all zones are the same. */
function useTitles(entries: readonly Entry[] | undefined): ReadonlyMap<string, string> {
  const zone = entries?.find(({ object }) => object.type === 'setting')?.resource.zone_id
  const settings = useRead<readonly Setting[]>(zone ? `/zones/${zone}/edged/settings` : undefined).value
  return useMemo(() => new Map(settings?.map(({ id, title }) => [id, title])), [settings])
}

/** Who changed what, with the values before and after. */
export default function Audit() {
  const { ofAccount } = usePlace()
  const read = useRead<readonly Entry[]>(`${ofAccount}/edged/audit?limit=${LIMIT}`, { every: EVERY_MS })
  const [text, setText] = useParam('find')
  const [who, setWho] = useParam('who')
  const [what, setWhat] = useParam('what')
  const { rest, search } = useAddress()
  const go = useGo()
  const titles = useTitles(read.value)
  const entries = useMemo(() => read.value?.map((entry) => titled(entry, titles)), [read.value, titles])
  const rows = useMemo(
    () => (entries ?? []).filter((entry) => fits(entry, text, who, what)),
    [entries, text, who, what],
  )
  const open = entries?.find((entry) => keyOf(entry) === rest[0])
  return (
    <Page>
      <Panel>
        <div className={styles['filters']}>
          <TextField
            type="search"
            label="Find a change"
            hideLabel
            placeholder="Find a name or an id  /"
            value={text}
            onChange={setText}
          />
          <SelectField
            label="Who"
            hideLabel
            value={who}
            onChange={setWho}
            options={options('Everybody', (entries ?? []).map(actorOf))}
          />
          <SelectField
            label="What"
            hideLabel
            value={what}
            onChange={setWhat}
            options={options(
              'Everything',
              (entries ?? []).map(({ object }) => object.type),
            )}
          />
        </div>
        <Shown read={read} what="the changes">
          {() =>
            rows.length === 0 ? (
              <Empty
                title={entries?.length === 0 ? 'No changes yet' : 'No change fits these filters'}
                text="Each change by the API is listed here, with who made it and its values before and after."
                docs="operations.html#audit"
              />
            ) : (
              <DataTable
                label="Changes"
                rows={rows}
                columns={COLUMNS}
                keyOf={keyOf}
                nameOf={(entry) => `${when(entry.at)} ${actorOf(entry)} ${sentenceOf(entry)}`}
                onOpen={(entry) => go({ rest: [keyOf(entry)], search })}
              />
            )
          }
        </Shown>
      </Panel>
      {open && (
        <Sheet title={`${actorOf(open)} ${sentenceOf(open)}`} onClose={() => go({ search })} wide>
          <SheetBody>
            <DifferenceTable before={open.before} after={open.after} />
            <Facts
              rows={[
                ['Time', <Time key="at" at={open.at} />],
                ['Who', actorOf(open)],
                ['Object', `${open.object.type} ${open.object.id}`],
                open.object.zone ? ['Zone', open.object.zone] : undefined,
                ['Request', <code key="request">{open.request_id}</code>],
              ]}
            />
          </SheetBody>
        </Sheet>
      )}
    </Page>
  )
}

/** Choices of a filter: all, then each value that occurs. */
const options = (all: string, values: readonly string[]): readonly Option[] => [
  ['', all],
  ...[...new Set(values)].sort().map((one) => [one, one.replaceAll('_', ' ')] as const),
]

function fits(entry: Entry, text: string, who: string, what: string): boolean {
  if (who !== '' && actorOf(entry) !== who) return false
  if (what !== '' && entry.object.type !== what) return false
  const wanted = text.trim().toLowerCase()
  return wanted === '' || `${sentenceOf(entry)} ${entry.object.id} ${entry.request_id}`.toLowerCase().includes(wanted)
}
