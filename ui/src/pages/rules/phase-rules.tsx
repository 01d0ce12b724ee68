import { useState, type ReactNode } from 'react'
import { useGo, useParam } from '../../address.tsx'
import { Button } from '../../parts/button.tsx'
import { useColumns } from '../../parts/columns.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { count, when } from '../../parts/format.ts'
import { FromFile } from '../../parts/panel.tsx'
import { Empty, Notice } from '../../parts/states.tsx'
import { actionName, phaseNamed } from './phases.ts'
import { columnsOf, RuleTable } from './rule-table.tsx'
import { useRuleWork, type RuleWork } from './rule-work.ts'
import { nameOf, type PlacedRule, type Ruleset } from './rule.ts'
import type { ActiveRules } from './active-rules.ts'
import { useActiveRules } from './use-active-rules.ts'
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
  const filters = useFilters()
  const columns = ruleset ? columnsOf({ phase, ruleset, hits, work, mayWrite }) : []
  const { hidden, chooser } = useColumns('rules', columns)
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
      <FilterBar filters={filters} actions={[...new Set(rules.map(({ action }) => action))]}>
        {chooser}
      </FilterBar>
      {filters.active && <IdleNote active={filters.active} />}
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
          columns={columns}
          hidden={hidden}
          chosen={chosen}
          choose={setChosen}
        />
      )}
    </>
  )
}

function useFilters() {
  const [find, setFind] = useParam('find')
  const [action, setAction] = useParam('action')
  const [state, setState] = useParam('state')
  const go = useGo()
  const wanted = find.trim().toLowerCase()
  const active = useActiveRules(state === 'idle')
  return {
    find,
    setFind,
    action,
    setAction,
    state,
    setState,
    /** Undefined unless rules without hits are asked for. */
    active,
    clear: () => go({}, { replace: true }),
    fits: ({ rule, at }: PlacedRule): boolean =>
      `${nameOf(rule, at)} ${actionName(rule.action)} ${rule.expression}`.toLowerCase().includes(wanted) &&
      (action === '' || rule.action === action) &&
      (state === '' ||
        (state === 'idle' ? active?.ids.has(rule.id) === false : (rule.enabled !== false) === (state === 'on'))),
  }
}

/** Says what the filter for rules without hits cannot know. */
function IdleNote({ active: { since, isWhole } }: { active: ActiveRules }) {
  return (
    <p className="soft">
      {since === undefined ? 'No hit in the last 7 days.' : `No hit since ${when(since)}: edged has no earlier counts.`}
      {!isWhole && ' Rules with fewer hits than 100 others count as idle only if they have none since the last start.'}
    </p>
  )
}

function FilterBar({
  filters,
  actions,
  children,
}: {
  filters: ReturnType<typeof useFilters>
  actions: readonly string[]
  children: ReactNode
}) {
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
          ['idle', '0 hits in 7 d'],
        ]}
        onChange={setState}
      />
      {children}
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
