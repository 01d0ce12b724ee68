import { useState } from 'preact/hooks'
import { patch, post, put, remove } from '../api.ts'
import { useRead, useWork } from '../hooks.ts'
import { Choice, Panel, Problem, Unread } from '../parts.tsx'
import { usePlace } from '../place.ts'
import { FileRules, type Source } from './file-rules.tsx'
import { RuleForm, type RuleInput } from './rule-form.tsx'
import { RuleList } from './rule-list.tsx'
import type { Rule, RuleCount } from './rule-search.tsx'
import { Trace } from './trace.tsx'

interface Ruleset {
  readonly id: string
  readonly version: string
  readonly rules?: readonly Rule[]
  /** Where the rules are, if they are in the configuration file. */
  readonly edged_source?: Source
}

const PHASES: readonly (readonly [phase: string, title: string])[] = [
  ['http_request_firewall_custom', 'Custom firewall rules'],
  ['http_ratelimit', 'Rate limits'],
  ['http_request_dynamic_redirect', 'Single redirects'],
  ['http_request_transform', 'URL rewrites'],
  ['http_config_settings', 'Configuration rules'],
  ['http_request_origin', 'Origin rules'],
  ['http_request_late_transform', 'Request header rewrites'],
  ['http_request_cache_settings', 'Cache rules'],
  ['http_custom_errors', 'Custom errors'],
  ['http_response_headers_transform', 'Response header rewrites'],
  ['http_response_compression', 'Compression rules'],
  ['http_log_custom_fields', 'Custom log fields'],
]

/** The rules of each phase of a zone, their order, and a trace of requests. */
export function Rulesets() {
  const [phase, setPhase] = useState(PHASES[0]![0])
  return (
    <>
      <Panel title="Rules">
        <Choice label="Phase" value={phase} options={PHASES} onChange={setPhase} />
        <Rules key={phase} phase={phase} />
      </Panel>
      <Trace />
    </>
  )
}

function Rules({ phase }: { phase: string }) {
  const { ofZone } = usePlace()
  const path = `${ofZone}/rulesets/phases/${phase}/entrypoint`
  const read = useRead<Ruleset>(path)
  const counts = useRead<readonly RuleCount[]>(`${ofZone}/edged/rules/counts`, 5000)
  const { busy, error, run } = useWork()
  const [editing, setEditing] = useState<Rule | 'new'>()
  const [notice, setNotice] = useState('')
  // The phase has no ruleset before its first rule. Any other error must not look like that: the first rule would
  // replace the ruleset.
  const isMissing = read.status === 404
  if (read.value === undefined && !isMissing)
    return read.error === undefined ? <p class="soft">Loading…</p> : <Unread read={read} />
  const ruleset = isMissing ? undefined : read.value
  const rules = ruleset?.rules ?? []
  if (ruleset?.edged_source)
    return <FileRules source={ruleset.edged_source} rules={rules} counts={counts.value ?? []} />
  const changed = (text: string) => {
    setNotice(text)
    setEditing(undefined)
    read.reload()
  }
  const store = async (rule: RuleInput) => {
    if (!ruleset) await put(path, { rules: [rule] })
    else if (editing === 'new' || editing === undefined) await post(`${ofZone}/rulesets/${ruleset.id}/rules`, rule)
    else await patch(`${ofZone}/rulesets/${ruleset.id}/rules/${editing.id}`, rule)
    changed('The rule is stored and in force.')
  }
  const move = (from: number, to: number) => {
    const rule = rules[from]
    if (!rule || !ruleset || to < 0 || to >= rules.length || from === to) return
    run(async () => {
      await patch(`${ofZone}/rulesets/${ruleset.id}/rules/${rule.id}`, { position: { index: to + 1 } })
      changed(`Rule ${from + 1} is now rule ${to + 1} of ${rules.length}.`)
    })
  }
  return (
    <>
      {!isMissing && <Unread read={read} />}
      <Problem text={error} />
      <p aria-live="polite" class="soft">
        {notice}
      </p>
      {rules.length === 0 && <p class="soft">No rules in this phase.</p>}
      <RuleList
        rules={rules}
        counts={counts.value ?? []}
        busy={busy}
        onMove={move}
        onEdit={setEditing}
        onToggle={(rule) =>
          run(async () => {
            await patch(`${ofZone}/rulesets/${ruleset!.id}/rules/${rule.id}`, { enabled: rule.enabled === false })
            changed('The rule is changed.')
          })
        }
        onDelete={(rule) =>
          confirm('Delete this rule?') &&
          run(async () => {
            await remove(`${ofZone}/rulesets/${ruleset!.id}/rules/${rule.id}`)
            changed('The rule is deleted.')
          })
        }
      />
      {editing === undefined ? (
        <button type="button" class="main" onClick={() => setEditing('new')}>
          Add a rule
        </button>
      ) : (
        <RuleForm
          key={editing === 'new' ? 'new' : editing.id}
          phase={phase}
          rule={editing === 'new' ? undefined : editing}
          onStore={store}
          onCancel={() => setEditing(undefined)}
        />
      )}
    </>
  )
}
