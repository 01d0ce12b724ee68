import { useEffect, useRef, useState } from 'preact/hooks'
import { Hits, useRuleSearch, type Rule, type RuleCount } from './rule-search.tsx'

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
  // A moved rule keeps the focus, also on another page.
  const focused = useRef<string>(undefined)
  useEffect(() => {
    if (focused.current === undefined) return
    document.getElementById(focused.current)?.focus()
    focused.current = undefined
  }, [rules])
  const { shown, count, showPlace, list } = useRuleSearch(rules, counts)
  const move = (rule: Rule, from: number, to: number, control: string) => {
    if (!Number.isInteger(to) || to < 0 || to >= rules.length || to === from) return
    focused.current = `${rule.id}-${control}`
    showPlace(to)
    onMove(from, to)
  }
  return list(
    shown.map(({ rule, at }) => {
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
          <Hits count={count(rule)} />
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
    }),
  )
}
