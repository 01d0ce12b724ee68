import { To } from '../../address.tsx'
import { useRead } from '../../api/queries.ts'
import { count } from '../../parts/format.ts'
import { usePlace } from '../../place.tsx'
import styles from './lists.module.css'

interface User {
  readonly rule_id: string
  readonly kind: string
  readonly phase: string
  readonly name: string
  readonly zone: { readonly id: string; readonly name: string } | null
}

/** The rules that use a list, with links. `path`: of the list. `total`: the number that the list itself has. */
export function Users({ path, total }: { path: string; total: number }) {
  const users = useRead<readonly User[]>(`${path}/edged/rules`).value ?? []
  if (total === 0 && users.length === 0) return 'No rule'
  const hidden = total - users.length
  return (
    <ul className={styles['users']}>
      {users.map((user) => (
        <li key={`${user.zone?.id} ${user.rule_id}`}>
          <UserLink user={user} />
        </li>
      ))}
      {hidden > 0 && (
        <li className="soft">
          {users.length === 0 ? count(hidden, 'rule') : `${count(hidden, 'rule')} that this token does not see`}
        </li>
      )}
    </ul>
  )
}

/** A rule of a custom ruleset has no page of its own. */
function UserLink({ user: { rule_id: id, kind, phase, name, zone } }: { user: User }) {
  const { account } = usePlace()
  const text = name === '' ? 'Rule without a name' : name
  const place = zone ? ` in ${zone.name}` : ' of the account'
  if (kind === 'custom') return `${text}, in a custom ruleset${place}`
  const scope = zone ? ({ scope: 'z', place: zone.name } as const) : ({ scope: 'a', place: account.name } as const)
  return (
    <>
      <To to={{ ...scope, page: 'rules', rest: [phase, id] }}>{text}</To>
      <span className="soft">{place}</span>
    </>
  )
}
