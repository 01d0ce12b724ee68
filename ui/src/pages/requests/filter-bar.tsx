import { useEffect, useState } from 'react'
import { useGo } from '../../address.tsx'
import { useAnalytics } from '../../analytics.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { SelectField, TextField, type Option } from '../../parts/fields.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useIsNarrow } from '../../parts/narrow.ts'
import { Sheet, SheetBody } from '../../parts/sheet.tsx'
import { rayOf, toggled, type FilterName } from './request-filters.ts'
import type { FilterState } from './use-filters.ts'
import styles from './requests.module.css'

const SEARCH_MS = 300
const STATUSES = ['2xx', '3xx', '4xx', '5xx']
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const CACHES = ['HIT', 'MISS', 'EXPIRED', 'STALE', 'UPDATING', 'REVALIDATED', 'BYPASS', 'DYNAMIC']
const MAX_AGENTS = 32

const named = (all: string, values: readonly string[], chosen: string | undefined): readonly Option[] => [
  ['', all],
  ...[...new Set([...values, ...(chosen ? [chosen] : [])])].map((value): Option => [value, value]),
]

/** Search, filters and what is filtered by. On a phone the filters are in a sheet. */
export function FilterBar({ state }: { state: FilterState }) {
  const isNarrow = useIsNarrow()
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <div className={styles['bar']}>
        <Search state={state} />
        {isNarrow ? (
          <Button icon="filter" onClick={() => setOpen(true)}>
            Filters{state.count > 0 && ` (${state.count})`}
          </Button>
        ) : (
          <Choices state={state} />
        )}
      </div>
      <Chips state={state} />
      {isOpen && (
        <Sheet title="Filters" onClose={() => setOpen(false)}>
          <SheetBody>
            <Choices state={state} isLabelled />
            <Button kind="primary" onClick={() => setOpen(false)}>
              Show requests
            </Button>
          </SheetBody>
        </Sheet>
      )}
    </>
  )
}

function Search({ state: { filters, set } }: { state: FilterState }) {
  const go = useGo()
  const [text, setText] = useState(filters.q ?? '')
  useEffect(() => setText(filters.q ?? ''), [filters.q])
  useEffect(() => {
    if (text === (filters.q ?? '')) return
    const timer = setTimeout(() => set('q', text === '' ? undefined : text), SEARCH_MS)
    return () => clearTimeout(timer)
  }, [text])
  const onChange = (next: string): void => {
    const ray = rayOf(next)
    if (ray === undefined) return setText(next)
    setText('')
    go({ rest: [ray] })
  }
  return (
    <div className={styles['search']}>
      <TextField
        label="Search path, ray id, IP"
        hideLabel
        type="search"
        placeholder="Search path, ray id, IP…"
        value={text}
        onChange={onChange}
      />
    </div>
  )
}

function Choices({ state: { filters, set }, isLabelled = false }: { state: FilterState; isLabelled?: boolean }) {
  const agents = useAnalytics({ by: 'agent', limit: MAX_AGENTS, step: 86_400 }).value?.groups ?? []
  const select = (name: FilterName, label: string, values: readonly string[]) => (
    <SelectField
      label={label}
      hideLabel={!isLabelled}
      value={filters[name] ?? ''}
      options={named(isLabelled ? 'Any' : label, values, filters[name])}
      onChange={(value) => set(name, value === '' ? undefined : value)}
    />
  )
  const chosen = filters.status?.split(',') ?? []
  return (
    <>
      <div className={styles['statuses']} role="group" aria-label="Status">
        {STATUSES.map((status) => (
          <button
            key={status}
            type="button"
            aria-pressed={chosen.includes(status)}
            onClick={() => set('status', toggled(filters.status, status))}
          >
            {status}
          </button>
        ))}
      </div>
      {select('cache', 'Cache', CACHES)}
      {select(
        'agent',
        'Agent',
        agents.map(({ key }) => key),
      )}
      {select('method', 'Method', METHODS)}
      <SelectField
        label="Markdown"
        hideLabel={!isLabelled}
        value={filters.markdown ?? ''}
        options={[
          ['', isLabelled ? 'Any' : 'Any content'],
          ['sent', 'Markdown'],
        ]}
        onChange={(value) => set('markdown', value === '' ? undefined : value)}
      />
    </>
  )
}

const CHIPS: readonly (readonly [name: FilterName, label: string])[] = [
  ['host', 'Host'],
  ['path', 'Path'],
  ['ip', 'IP'],
  ['country', 'Country'],
]

/** Filters that a click on a value has set, and that no field shows. */
function Chips({ state: { filters, set, clear, count } }: { state: FilterState }) {
  const exact = filters.status?.split(',').filter((status) => !STATUSES.includes(status)) ?? []
  if (count === 0) return null
  return (
    <div className={styles['chips']}>
      {CHIPS.map(
        ([name, label]) =>
          filters[name] && (
            <Chip key={name} label={label} value={filters[name]} onRemove={() => set(name, undefined)} />
          ),
      )}
      {exact.map((status) => (
        <Chip
          key={status}
          label="Status"
          value={status}
          onRemove={() => set('status', toggled(filters.status, status))}
        />
      ))}
      <Button kind="quiet" size="small" onClick={clear}>
        Clear filters
      </Button>
    </div>
  )
}

const Chip = ({ label, value, onRemove }: { label: string; value: string; onRemove: () => void }) => (
  <span className={styles['chip']}>
    <Icon name="filter" size={12} />
    <span className="soft">{label}</span> <span className="cut">{value}</span>
    <IconButton icon="x" label={`Remove ${label} ${value}`} size="small" onClick={onRemove} />
  </span>
)
