import { useMemo } from 'react'
import { useList } from '../../api/queries.ts'
import { useAddress, useGo } from '../../address.tsx'
import { ago } from '../../parts/format.ts'
import { NewButton } from '../../parts/new-button.tsx'
import { Page } from '../../parts/page.tsx'
import { Panel, State, Time } from '../../parts/panel.tsx'
import { Empty, Notice, Shown } from '../../parts/states.tsx'
import { DataTable, type Column } from '../../parts/table.tsx'
import { usePlace, useZones } from '../../place.tsx'
import { NewToken } from './new-token.tsx'
import { TokenSheet } from './token-sheet.tsx'
import { groupsOf, scopeOf, type Token } from './token.ts'

const WRITE = 'API Tokens Write'

/** Tokens of the API: who may do what, until when, and when each was used last. */
export default function Tokens() {
  const { may } = usePlace()
  const read = useList<Token>('/user/tokens')
  const zones = useZones()
  const { rest } = useAddress()
  const go = useGo()
  const columns = useMemo(() => columnsFor((id) => zones.value?.find((zone) => zone.id === id)?.name), [zones.value])
  const open = read.value?.find(({ id }) => id === rest[0])
  const close = (): void => go({})
  return (
    <Page actions={may(WRITE) && <NewButton label="New token" />}>
      {!may(WRITE) && <Notice>Read only: needs {WRITE}.</Notice>}
      <Panel>
        <Shown read={read} what="the tokens">
          {(tokens) =>
            tokens.length === 0 ? (
              <Empty
                title="No token was made by the API yet"
                text="A token lets a script or a person use the API with just the permissions that it needs. Tokens of the configuration file are not listed."
                action={may(WRITE) && <NewButton label="New token" isPlain />}
                docs="api.html"
              />
            ) : (
              <DataTable
                label="Tokens"
                rows={tokens}
                columns={columns}
                keyOf={({ id }) => id}
                nameOf={({ name }) => name}
                onOpen={({ id }) => go({ rest: [id] })}
                isOff={({ status }) => status !== 'active'}
              />
            )
          }
        </Shown>
      </Panel>
      {rest[0] === 'new' && <NewToken onClose={close} />}
      {open && <TokenSheet key={open.id} token={open} mayWrite={may(WRITE)} onClose={close} />}
    </Page>
  )
}

const STATES = { active: ['ok', 'Active'], disabled: ['off', 'Off'], expired: ['bad', 'Ended'] } as const

function columnsFor(nameOf: (id: string) => string | undefined): readonly Column<Token>[] {
  return [
    { key: 'name', title: 'Name', cell: ({ name }) => name, sort: ({ name }) => name.toLowerCase(), card: 'title' },
    {
      key: 'state',
      title: 'State',
      cell: ({ status }) => <State tone={STATES[status][0]}>{STATES[status][1]}</State>,
      card: 'state',
    },
    { key: 'groups', title: 'Permissions', cell: (token) => summary(groupsOf(token)), card: 'fact' },
    { key: 'scope', title: 'For', cell: (token) => scopeOf(token, nameOf), card: 'fact' },
    {
      key: 'used',
      title: 'Last used',
      cell: ({ last_used_on: at }) => (at ? ago(at) : 'never'),
      sort: ({ last_used_on: at }) => at ?? '',
      card: 'fact',
    },
    {
      key: 'ends',
      title: 'Ends',
      cell: ({ expires_on: at }) => (at ? <Time at={at} /> : 'never'),
      sort: ({ expires_on: at }) => at ?? '9',
    },
  ]
}

function summary(groups: readonly string[]): string {
  if (groups.includes('*')) return 'Everything'
  const [first = '–', ...others] = groups
  return others.length === 0 ? first : `${first} and ${others.length} more`
}
