import { useState } from 'preact/hooks'
import { patch, post, put, remove } from '../api.ts'
import { useRead, useWork } from '../hooks.ts'
import { Choice, Panel, Problem } from '../parts.tsx'
import { usePlace } from '../place.ts'
import { RuleForm, type RuleInput } from './rule-form.tsx'
import { Trace } from './trace.tsx'

export interface Rule extends RuleInput {
  readonly id: string
}
interface Ruleset {
  readonly id: string
  readonly version: string
  readonly rules?: readonly Rule[]
}

interface RuleCount {
  readonly rule_id: string
  readonly matches: number
  readonly failures: number
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
  // The phase has no ruleset before its first rule.
  const missing = read.error !== undefined && read.value === undefined
  if (read.value === undefined && !missing) return <p class="soft">Loading…</p>
  const ruleset = read.value
  const rules = ruleset?.rules ?? []
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

function RuleList({
  rules,
  counts,
  busy,
  onMove,
  onEdit,
  onToggle,
  onDelete,
}: {
  rules: readonly Rule[]
  counts: readonly RuleCount[]
  busy: boolean
  onMove: (from: number, to: number) => void
  onEdit: (rule: Rule) => void
  onToggle: (rule: Rule) => void
  onDelete: (rule: Rule) => void
}) {
  const [dragged, setDragged] = useState<number>()
  return (
    <ol class="rules" aria-label="Rules in the order in which they run">
      {rules.map((rule, at) => {
        const name = rule.description || `rule ${at + 1}`
        return (
          <li
            key={rule.id}
            draggable
            class={dragged === at ? 'dragged' : ''}
            onDragStart={() => setDragged(at)}
            onDragEnd={() => setDragged(undefined)}
            onDragOver={(event) => event.preventDefault()}
            onDrop={(event) => {
              event.preventDefault()
              if (dragged !== undefined) onMove(dragged, at)
            }}
          >
            <span class="grip" aria-hidden="true">
              ⠿
            </span>
            <button
              type="button"
              disabled={busy || at === 0}
              aria-label={`Move ${name} up`}
              onClick={() => onMove(at, at - 1)}
            >
              ↑
            </button>
            <button
              type="button"
              disabled={busy || at === rules.length - 1}
              aria-label={`Move ${name} down`}
              onClick={() => onMove(at, at + 1)}
            >
              ↓
            </button>
            <strong>{rule.action}</strong>
            {rule.description && <span>{rule.description}</span>}
            <code>{rule.expression}</code>
            <Hits count={counts.find(({ rule_id: id }) => id === rule.id)} />
            <button type="button" disabled={busy} aria-pressed={rule.enabled !== false} onClick={() => onToggle(rule)}>
              {rule.enabled === false ? 'Disabled' : 'Enabled'}
            </button>
            <button type="button" aria-label={`Edit ${name}`} onClick={() => onEdit(rule)}>
              Edit
            </button>
            <button type="button" disabled={busy} aria-label={`Delete ${name}`} onClick={() => onDelete(rule)}>
              Delete
            </button>
          </li>
        )
      })}
    </ol>
  )
}

/** Requests that a rule acted on since the start of the daemon. */
function Hits({ count }: { count: RuleCount | undefined }) {
  const { matches = 0, failures = 0 } = count ?? {}
  return (
    <span class="soft">
      {`${matches.toLocaleString()} ${matches === 1 ? 'hit' : 'hits'}`}
      {failures > 0 && <span class="bad">{`, ${failures.toLocaleString()} failures`}</span>}
    </span>
  )
}
