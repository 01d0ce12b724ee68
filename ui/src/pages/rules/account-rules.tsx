import { To } from '../../address.tsx'
import { count } from '../../parts/format.ts'
import { Badge } from '../../parts/panel.tsx'
import { usePlace } from '../../place.tsx'
import { actionName } from './phases.ts'
import { nameOf, type Ruleset } from './rule.ts'
import styles from './rules.module.css'

/** Rules of the account, which run before those of the zone. They are changed on the page of the account. */
export function AccountRules({ ruleset }: { ruleset: Ruleset | undefined }) {
  const { account } = usePlace()
  const rules = ruleset?.rules ?? []
  if (!ruleset || rules.length === 0) return null
  return (
    <section className={styles['account']} aria-label="Rules of the account">
      <p>
        {count(rules.length, 'rule')} of the account {rules.length === 1 ? 'runs' : 'run'} first.{' '}
        <To to={{ scope: 'a', place: account.name, page: 'rules', rest: [ruleset.phase] }}>Show</To>
      </p>
      <ol>
        {rules.map((rule, at) => (
          <li key={rule.id}>
            <span>{nameOf(rule, at)}</span>
            <Badge>{actionName(rule.action)}</Badge>
            {rule.enabled === false && <span>Off</span>}
            <code className={styles['expression']}>{rule.expression}</code>
          </li>
        ))}
      </ol>
    </section>
  )
}
