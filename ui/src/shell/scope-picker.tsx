import { Popover } from '@base-ui/react/popover'
import { useRef, useState, type KeyboardEvent } from 'react'
import { Button } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { useAccounts, useZones, type Place } from '../place.tsx'
import { PAGES } from '../pages/index.ts'
import { useAddress, useGo } from '../address.tsx'
import styles from './shell.module.css'

interface Choice {
  readonly scope: 'z' | 'a'
  readonly place: string
  readonly name: string
  readonly note: string
  readonly isCurrent: boolean
}

/** At most this many matches are drawn. */
const MAX_SHOWN = 50

/** "Account / zone": a list of all zones and accounts, narrowed by typing. The same page of the other zone opens. */
export function ScopePicker({ place }: { place: Place | undefined }) {
  const address = useAddress()
  const go = useGo()
  const zones = useZones()
  const accounts = useAccounts()
  const [isOpen, setOpen] = useState(false)
  const [text, setText] = useState('')
  const list = useRef<HTMLDivElement>(null)
  const all: readonly Choice[] = [
    ...(accounts.value ?? []).map(({ id, name }) => ({
      scope: 'a' as const,
      place: id,
      name: `All zones of ${name}`,
      note: '',
      isCurrent: !place?.zone && place?.account.id === id,
    })),
    ...(zones.value ?? []).map(({ id, name, account }) => ({
      scope: 'z' as const,
      place: name,
      name,
      note: account.name,
      isCurrent: place?.zone?.id === id,
    })),
  ]
  const wanted = text.trim().toLowerCase()
  const shown = all.filter(({ name, note }) => `${name} ${note}`.toLowerCase().includes(wanted)).slice(0, MAX_SHOWN)
  const choose = (choice: Choice): void => {
    setOpen(false)
    setText('')
    const hasPage = PAGES.some(({ scope, path }) => scope === choice.scope && path === address.page)
    go({ scope: choice.scope, place: choice.place, page: hasPage ? address.page : 'overview' })
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const stops = [...list.current!.querySelectorAll<HTMLElement>('input, button')]
    stops[(stops.indexOf(document.activeElement as HTMLElement) + step + stops.length) % stops.length]?.focus()
  }
  return (
    <Popover.Root open={isOpen} onOpenChange={setOpen}>
      <Popover.Trigger
        render={
          <Button
            kind="quiet"
            aria-label={`Zone or account: ${place ? `${place.account.name} / ${place.zone?.name ?? 'All zones'}` : 'Choose a zone'}`}
          />
        }
      >
        <span className={styles['scope']}>
          {place ? (
            <>
              <span className={styles['account']}>{place.account.name} /</span> {place.zone?.name ?? 'All zones'}
            </>
          ) : (
            'Choose a zone'
          )}
        </span>
        <Icon name="chevron-down" size={14} />
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner className={styles['popPlace']} align="start" sideOffset={6}>
          <Popover.Popup className={styles['pop']} ref={list} aria-label="Zones and accounts" onKeyDown={onKeyDown}>
            <input
              className={styles['popSearch']}
              aria-label="Find a zone"
              placeholder="Find a zone"
              value={text}
              onChange={(event) => setText(event.currentTarget.value)}
              onKeyDown={(event) => {
                const [first] = shown
                if (event.key === 'Enter' && first) choose(first)
              }}
            />
            {shown.map((choice) => (
              <button
                key={choice.scope + choice.place}
                type="button"
                className={styles['popItem']}
                aria-current={choice.isCurrent || undefined}
                onClick={() => choose(choice)}
              >
                <span className="cut">{choice.name}</span>
                <span className="soft">{choice.note}</span>
                {choice.isCurrent && <Icon name="check" size={14} />}
              </button>
            ))}
            {shown.length === 0 && <p className={styles['popNone']}>No zone or account has “{text}” in its name.</p>}
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  )
}
