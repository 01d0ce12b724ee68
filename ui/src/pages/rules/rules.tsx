import { useState } from 'react'
import { To, useAddress, useGo, useParam } from '../../address.tsx'
import { Button } from '../../parts/button.tsx'
import { Page } from '../../parts/page.tsx'
import { Panel, Tabs } from '../../parts/panel.tsx'
import { Notice, Shown } from '../../parts/states.tsx'
import { usePlace } from '../../place.tsx'
import { AccountRules } from './account-rules.tsx'
import { PhaseRules } from './phase-rules.tsx'
import { phaseNamed } from './phases.ts'
import { RuleSheet } from './rule-sheet.tsx'
import { RuleView } from './rule-view.tsx'
import { useRuleWork } from './rule-work.ts'
import type { Rule } from './rule.ts'
import { Trace } from './trace.tsx'
import { phasesFor, useEntryPoints, useHits, type EntryPoints } from './use-rules.ts'
import { Versions } from './versions.tsx'

/** Groups of permissions, one of which lets a token change rules. */
const WRITE = [
  'Account Rulesets Write',
  'Account WAF Write',
  'Transform Rules Write',
  'Select Configuration Write',
  'Mass URL Redirects Write',
  'Magic Firewall Write',
  'L4 DDoS Managed Ruleset Write',
  'Logs Write',
]
const FIRST = 'http_request_firewall_custom'

/** The rules of each phase, their order and their hits, and a trace of one request through them. */
export default function Rules() {
  const { zone, ofZone, ofAccount, may } = usePlace()
  const base = zone ? ofZone : ofAccount
  const entries = useEntryPoints(base, zone ? 'zone' : 'root')
  const ofAll = useEntryPoints(zone ? ofAccount : undefined, 'root')
  const hits = useHits()
  const { rest } = useAddress()
  const go = useGo()
  const [traced] = useParam('trace_url')
  const [isTracing, setTracing] = useState(traced !== '')
  const [phase = FIRST] = rest
  const mayWrite = WRITE.some(may)
  const { one } = phaseNamed(phase)
  const ofFile = entries.value?.get(phase)?.edged_source
  return (
    <Page
      actions={
        <>
          <Button aria-expanded={isTracing} onClick={() => setTracing(!isTracing)}>
            Trace
          </Button>
          {mayWrite && !ofFile && (
            <Button kind="primary" icon="plus" onClick={() => go({ rest: [phase, 'new'] })}>
              New {one}
            </Button>
          )}
        </>
      }
    >
      {!mayWrite && <Notice>Read only: needs {WRITE[0]}.</Notice>}
      {isTracing && <Trace />}
      <Panel>
        <PhaseTabs entries={entries.value} phase={phase} level={zone ? 'zone' : 'account'} />
        <Shown read={entries} what="the rules" rows={8}>
          {(found) => (
            <div className="stack">
              <AccountRules ruleset={ofAll.value?.get(phase)} />
              <PhaseRules
                key={phase}
                phase={phase}
                ruleset={found.get(phase)}
                hits={hits}
                mayWrite={mayWrite}
                base={base}
              />
              <OpenSheet key={rest.join('/')} entries={found} phase={phase} base={base} mayWrite={mayWrite} />
            </div>
          )}
        </Shown>
      </Panel>
    </Page>
  )
}

function PhaseTabs({
  entries,
  phase,
  level,
}: {
  entries: EntryPoints | undefined
  phase: string
  level: 'zone' | 'account'
}) {
  const go = useGo()
  const tabs = phasesFor(level, entries ?? new Map()).map(({ name, title }) => {
    const total = entries?.get(name)?.rules?.length ?? 0
    return [
      name,
      <>
        {title}
        {total > 0 && <span className="soft num"> {total}</span>}
      </>,
    ] as const
  })
  return (
    <Tabs label="Phases" value={phase} tabs={tabs} onChange={(next) => go({ rest: next === FIRST ? [] : [next] })} />
  )
}

/** The sheet that the address names: a new rule, one that is there, or the versions. */
function OpenSheet({
  entries,
  phase,
  base,
  mayWrite,
}: {
  entries: EntryPoints
  phase: string
  base: string
  mayWrite: boolean
}) {
  const { rest, search } = useAddress()
  const go = useGo()
  const work = useRuleWork(base)
  const [, open] = rest
  if (open === undefined) return null
  const ruleset = entries.get(phase)
  const rules: readonly Rule[] = ruleset?.rules ?? []
  const { find, action, state } = search
  const close = (): void => go({ rest: [phase], search: { find, action, state } })
  if (open === 'versions')
    return ruleset ? (
      <Versions
        base={base}
        ruleset={ruleset}
        title={phaseNamed(phase).title}
        work={work}
        canChange={mayWrite && !ruleset.edged_source}
        onClose={close}
      />
    ) : null
  const rule = rules.find(({ id }) => id === open)
  if (open !== 'new' && !rule)
    return (
      <Notice kind="warn">
        No rule with this id. <To to={{ rest: [phase] }}>Show all rules</To>
      </Notice>
    )
  if (!mayWrite || ruleset?.edged_source)
    return rule ? <RuleView rule={rule} at={rules.indexOf(rule)} onClose={close} /> : null
  return (
    <RuleSheet
      phase={phase}
      ruleset={ruleset}
      rule={rule}
      copied={rules.find(({ id }) => id === search['copy'])}
      expression={search['expression'] ?? ''}
      work={work}
      draftKey={[base, phase, open, search['copy'], search['expression']].join(' ')}
      onClose={close}
    />
  )
}
