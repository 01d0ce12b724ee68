import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { PER_PAGE } from '../hooks.ts'
import { TextField } from '../parts.tsx'
import { Pager } from '../table.tsx'
import type { RuleInput } from './rule-form.tsx'

export interface Rule extends RuleInput {
  readonly id: string
}

/** Requests that a rule acted on since the start of the daemon. */
export interface RuleCount {
  readonly rule_id: string
  readonly matches: number
  readonly failures: number
}

/** Rules in their order, a page of them, with buttons to change it. */
export function RuleList({
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
  const [search, setSearch] = useState('')
  const [chosen, setPage] = useState(1)
  // A moved rule keeps the focus, also on another page.
  const focused = useRef<string>(undefined)
  useEffect(() => {
    if (focused.current === undefined) return
    document.getElementById(focused.current)?.focus()
    focused.current = undefined
  }, [rules])
  const byRule = useMemo(() => new Map(counts.map((count) => [count.rule_id, count])), [counts])
  const wanted = search.trim().toLowerCase()
  const found = rules
    .map((rule, at) => ({ rule, at }))
    .filter(({ rule }) => wanted === '' || textOf(rule).toLowerCase().includes(wanted))
  const page = Math.min(chosen, Math.max(1, Math.ceil(found.length / PER_PAGE)))
  const move = (rule: Rule, from: number, to: number, control: string) => {
    if (!Number.isInteger(to) || to < 0 || to >= rules.length || to === from) return
    focused.current = `${rule.id}-${control}`
    if (wanted === '') setPage(Math.floor(to / PER_PAGE) + 1)
    onMove(from, to)
  }
  return (
    <>
      {(rules.length > 10 || search !== '') && (
        <TextField
          label="Search in the rules"
          value={search}
          onInput={(text) => {
            setSearch(text)
            setPage(1)
          }}
        />
      )}
      <ol class="rules" aria-label="Rules in the order in which they run">
        {found.slice((page - 1) * PER_PAGE, page * PER_PAGE).map(({ rule, at }) => {
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
              <input
                id={`${rule.id}-at`}
                type="number"
                min="1"
                max={rules.length}
                aria-label={`Position of ${name}`}
                value={at + 1}
                onChange={(event) => move(rule, at, Number(event.currentTarget.value) - 1, 'at')}
              />
              <button
                id={`${rule.id}-up`}
                type="button"
                aria-disabled={busy || at === 0}
                aria-label={`Move ${name} up`}
                onClick={() => move(rule, at, at - 1, 'up')}
              >
                ↑
              </button>
              <button
                id={`${rule.id}-down`}
                type="button"
                aria-disabled={busy || at === rules.length - 1}
                aria-label={`Move ${name} down`}
                onClick={() => move(rule, at, at + 1, 'down')}
              >
                ↓
              </button>
              <strong>{rule.action}</strong>
              {rule.description && <span>{rule.description}</span>}
              <code>{rule.expression}</code>
              <Hits count={byRule.get(rule.id)} />
              <button
                type="button"
                aria-disabled={busy}
                aria-pressed={rule.enabled !== false}
                onClick={() => onToggle(rule)}
              >
                {rule.enabled === false ? 'Disabled' : 'Enabled'}
              </button>
              <button type="button" aria-label={`Edit ${name}`} onClick={() => onEdit(rule)}>
                Edit
              </button>
              <button type="button" aria-disabled={busy} aria-label={`Delete ${name}`} onClick={() => onDelete(rule)}>
                Delete
              </button>
            </li>
          )
        })}
      </ol>
      {found.length === 0 && rules.length > 0 && <p class="soft">Nothing matches the search.</p>}
      <Pager caption="Rules" page={page} total={found.length} onPage={setPage} />
    </>
  )
}

export const textOf = ({ action, description = '', expression }: Rule): string =>
  `${action} ${description} ${expression}`

/** Requests that a rule acted on since the start of the daemon. */
export function Hits({ count }: { count: RuleCount | undefined }) {
  const { matches = 0, failures = 0 } = count ?? {}
  return (
    <span class="soft">
      {`${matches.toLocaleString()} ${matches === 1 ? 'hit' : 'hits'}`}
      {failures > 0 && <span class="bad">{`, ${failures.toLocaleString()} failures`}</span>}
    </span>
  )
}
