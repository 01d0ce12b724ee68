import { useEffect, useRef, useState, type DragEvent, type KeyboardEvent } from 'react'
import { useGo } from '../../address.tsx'
import { Switch } from '../../parts/fields.tsx'
import { count, number } from '../../parts/format.ts'
import { Icon } from '../../parts/icon.tsx'
import { Badge, FromFile } from '../../parts/panel.tsx'
import { Sparkline } from '../../parts/sparkline.tsx'
import { DataTable, type Column } from '../../parts/table.tsx'
import { actionName } from './phases.ts'
import { nameOf, type PlacedRule, type Ruleset } from './rule.ts'
import { RuleMenu } from './rule-menu.tsx'
import type { RuleWork } from './rule-work.ts'
import type { Hits } from './use-rules.ts'
import styles from './rules.module.css'

interface TableProps {
  readonly phase: string
  readonly ruleset: Ruleset
  readonly rows: readonly PlacedRule[]
  readonly hits: ReadonlyMap<string, Hits>
  readonly work: RuleWork
  readonly mayWrite: boolean
  readonly columns: readonly Column<PlacedRule>[]
  readonly hidden: readonly string[]
  readonly chosen: ReadonlySet<string>
  readonly choose: (ids: ReadonlySet<string>) => void
}

/** The rules of a phase in their order. Rows are moved by dragging, and by Alt with an arrow key. */
export function RuleTable(props: TableProps) {
  const { phase, ruleset, rows, work, mayWrite, columns, hidden, chosen, choose } = props
  const go = useGo()
  const total = ruleset.rules?.length ?? 0
  const canMove = mayWrite && !ruleset.edged_source
  const drag = useDragging((from, to) => void work.move(ruleset, from, to))
  const open = ({ rule }: PlacedRule): void => go({ rest: [phase, rule.id] })
  const focused = useRef<string>(undefined)
  useEffect(() => {
    // A moved row keeps the focus.
    if (focused.current === undefined) return
    document.querySelector<HTMLElement>(`[data-rule="${focused.current}"] [data-open-row]`)?.focus()
    focused.current = undefined
  }, [rows])
  const move = ({ rule, at }: PlacedRule, event: KeyboardEvent): void => {
    const step = event.key === 'ArrowUp' ? -1 : event.key === 'ArrowDown' ? 1 : 0
    if (!event.altKey || step === 0) return
    event.preventDefault()
    if (at + step < 0 || at + step >= total) return
    focused.current = rule.id
    void work.move(ruleset, at, at + step)
  }
  return (
    <DataTable
      label="Rules in the order in which they run"
      rows={rows}
      columns={columns}
      hidden={hidden}
      selection={canMove ? { chosen, choose, nameOf: name } : undefined}
      keyOf={({ rule }) => rule.id}
      nameOf={({ rule, at }) => `${ruleset.edged_source ? 'Show' : 'Edit'} ${nameOf(rule, at)}`}
      isOff={({ rule }) => rule.enabled === false}
      onOpen={open}
      onEdit={canMove ? open : undefined}
      rowProps={(row) =>
        canMove
          ? ({
              ...drag(row.at),
              'data-rule': row.rule.id,
              onKeyDown: (event: KeyboardEvent) => move(row, event),
            } as object)
          : {}
      }
    />
  )
}

function useDragging(move: (from: number, to: number) => void) {
  const [from, setFrom] = useState<number>()
  const [over, setOver] = useState<number>()
  return (at: number) => ({
    draggable: true,
    'data-over': over === at && from !== at ? (from! < at ? 'after' : 'before') : undefined,
    onDragStart: (event: DragEvent) => {
      event.dataTransfer.effectAllowed = 'move'
      setFrom(at)
    },
    onDragEnd: () => {
      setFrom(undefined)
      setOver(undefined)
    },
    onDragOver: (event: DragEvent) => {
      if (from === undefined) return
      event.preventDefault()
      setOver(at)
    },
    onDrop: (event: DragEvent) => {
      event.preventDefault()
      if (from !== undefined) move(from, at)
      setFrom(undefined)
      setOver(undefined)
    },
  })
}

const name = ({ rule, at }: PlacedRule): string => nameOf(rule, at)

export function columnsOf(
  props: Omit<TableProps, 'rows' | 'columns' | 'hidden' | 'chosen' | 'choose'>,
): readonly Column<PlacedRule>[] {
  const { ruleset, hits, work, mayWrite } = props
  const ofFile = ruleset.edged_source
  const canChange = mayWrite && !ofFile
  const order: Column<PlacedRule> = {
    key: 'order',
    title: 'Order',
    width: 64,
    sort: ({ at }) => at,
    cell: ({ at }) => (
      <span className={styles['order']}>
        {canChange && <Icon name="grip" size={14} />}
        {at + 1}
      </span>
    ),
  }
  const state: Column<PlacedRule> = {
    key: 'state',
    title: 'State',
    width: 88,
    card: 'state',
    sort: ({ rule }) => (rule.enabled === false ? 1 : 0),
    cell: (row) => (
      <span className={styles['state']}>
        {canChange && (
          <Switch
            label={`${name(row)} is on`}
            on={row.rule.enabled !== false}
            onChange={(on) => void work.enable(ruleset, [row.rule], on)}
          />
        )}
        {row.rule.enabled === false ? 'Off' : !canChange && 'On'}
      </span>
    ),
  }
  return [
    order,
    state,
    { key: 'name', title: 'Name', card: 'title', opens: true, sort: name, cell: name },
    {
      key: 'action',
      title: 'Action',
      width: 110,
      card: 'fact',
      sort: ({ rule }) => actionName(rule.action),
      cell: ({ rule }) => <Badge>{actionName(rule.action)}</Badge>,
    },
    {
      key: 'hits',
      title: 'Hits in 24 h',
      width: 120,
      numeric: true,
      card: 'fact',
      sort: ({ rule }) => hits.get(rule.id)?.day ?? 0,
      cell: ({ rule }) => <HitsCell hits={hits.get(rule.id)} />,
    },
    {
      key: 'expression',
      title: 'When',
      cell: ({ rule }) => <code className={styles['short']}>{rule.expression}</code>,
    },
    {
      key: 'menu',
      title: '',
      width: 48,
      card: 'menu',
      cell: (row) =>
        row.rule.edged_source ? (
          <FromFile source={row.rule.edged_source} />
        ) : (
          <RuleMenu {...props} row={row} canChange={canChange} />
        ),
    },
  ]
}

const HitsCell = ({ hits }: { hits: Hits | undefined }) => (
  <span className={styles['hits']}>
    {hits && hits.day > 0 && (
      <Sparkline values={hits.hours} label={`Hits by hour, ${number(hits.day)} in 24 hours`} width={56} />
    )}
    {number(hits?.day ?? 0)}
    {hits && hits.failures > 0 && <span className="bad">{count(hits.failures, 'failure')}</span>}
  </span>
)
