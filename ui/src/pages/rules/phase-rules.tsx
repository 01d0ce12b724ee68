import { useState } from 'react'
import { useGo, useParam } from '../../address.tsx'
import { Button } from '../../parts/button.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { count } from '../../parts/format.ts'
import { FromFile } from '../../parts/panel.tsx'
import { Empty, Notice } from '../../parts/states.tsx'
import { actionName, phaseNamed } from './phases.ts'
import { RuleTable } from './rule-table.tsx'
import { useRuleWork, type RuleWork } from './rule-work.ts'
import { nameOf, type PlacedRule, type Ruleset } from './rule.ts'
import type { Hits } from './use-rules.ts'
import styles from './rules.module.css'

const NOTHING: ReadonlySet<string> = new Set()

/** The rules of one phase with search and filters. */
export function PhaseRules({
  phase,
  ruleset,
  hits,
  mayWrite,
  base,
}: {
  phase: string
  ruleset: Ruleset | undefined
  hits: ReadonlyMap<string, Hits>
  mayWrite: boolean
  base: string
}) {
  const go = useGo()
  const work = useRuleWork(base)
  const [chosen, setChosen] = useState(NOTHING)
  const filters = useFilters(hits)
  const { about, one } = phaseNamed(phase)
  const rules = ruleset?.rules ?? []
  if (!ruleset || rules.length === 0)
    return (
      <Empty
        title={`No ${one}s yet`}
        text={about}
        docs="rules.html"
        action={
          mayWrite &&
          !ruleset?.edged_source && (
            <Button kind="primary" onClick={() => go({ rest: [phase, 'new'] })}>
              New {one}
            </Button>
          )
        }
      />
    )
  const rows = rules.map((rule, at) => ({ rule, at })).filter(filters.fits)
  const selected = rows.filter(({ rule }) => chosen.has(rule.id))
  return (
    <>
      {ruleset.edged_source && (
        <Notice action={<FromFile source={ruleset.edged_source} />}>
          The configuration file has these rules. Change them there and run <code>edged reload</code>.
        </Notice>
      )}
      <FilterBar filters={filters} actions={[...new Set(rules.map(({ action }) => action))]} />
      {selected.length > 0 && (
        <Bulk ruleset={ruleset} selected={selected} work={work} done={() => setChosen(NOTHING)} />
      )}
      {rows.length === 0 ? (
        <p className="soft">
          No rule fits.{' '}
          <Button kind="quiet" size="small" onClick={filters.clear}>
            Show all
          </Button>
        </p>
      ) : (
        <RuleTable
          phase={phase}
          ruleset={ruleset}
          rows={rows}
          hits={hits}
          work={work}
          mayWrite={mayWrite}
          chosen={chosen}
          choose={(id, on) => {
            const next = new Set(chosen)
            if (on) next.add(id)
            else next.delete(id)
            setChosen(next)
          }}
        />
      )}
    </>
  )
}

function useFilters(hits: ReadonlyMap<string, Hits>) {
  const [find, setFind] = useParam('find')
  const [action, setAction] = useParam('action')
  const [state, setState] = useParam('state')
  const go = useGo()
  const wanted = find.trim().toLowerCase()
  return {
    find,
    setFind,
    action,
    setAction,
    state,
    setState,
    clear: () => go({}, { replace: true }),
    fits: ({ rule, at }: PlacedRule): boolean =>
      `${nameOf(rule, at)} ${actionName(rule.action)} ${rule.expression}`.toLowerCase().includes(wanted) &&
      (action === '' || rule.action === action) &&
      (state === '' ||
        (state === 'idle' ? (hits.get(rule.id)?.day ?? 0) === 0 : (rule.enabled !== false) === (state === 'on'))),
  }
}

function FilterBar({ filters, actions }: { filters: ReturnType<typeof useFilters>; actions: readonly string[] }) {
  const { find, setFind, action, setAction, state, setState } = filters
  return (
    <div className={styles['bar']}>
      <TextField
        type="search"
        label="Find a rule"
        hideLabel
        placeholder="Search name, expression  /"
        value={find}
        onChange={setFind}
      />
      <SelectField
        label="Action"
        hideLabel
        value={action}
        options={[['', 'All actions'], ...actions.map((one) => [one, actionName(one)] as const)]}
        onChange={setAction}
      />
      <SelectField
        label="State"
        hideLabel
        value={state}
        options={[
          ['', 'On and off'],
          ['on', 'On'],
          ['off', 'Off'],
          ['idle', '0 hits in 24 h'],
        ]}
        onChange={setState}
      />
    </div>
  )
}

function Bulk({
  ruleset,
  selected,
  work,
  done,
}: {
  ruleset: Ruleset
  selected: readonly PlacedRule[]
  work: RuleWork
  done: () => void
}) {
  const rules = selected.map(({ rule }) => rule)
  const [isBusy, setBusy] = useState(false)
  const run = async (change: Promise<void>): Promise<void> => {
    setBusy(true)
    await change
    setBusy(false)
    done()
  }
  return (
    <div className={styles['bulk']} role="group" aria-label="Selected rules">
      <span>{count(rules.length, 'rule')} selected</span>
      <Button size="small" busy={isBusy} onClick={() => void run(work.enable(ruleset, rules, true))}>
        Enable
      </Button>
      <Button size="small" disabled={isBusy} onClick={() => void run(work.enable(ruleset, rules, false))}>
        Disable
      </Button>
      <Button size="small" kind="danger" disabled={isBusy} onClick={() => void run(work.remove(ruleset, rules))}>
        Delete
      </Button>
      <Button size="small" kind="quiet" onClick={done}>
        Clear
      </Button>
    </div>
  )
}
