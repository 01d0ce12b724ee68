import { Dialog } from '@base-ui/react/dialog'
import { useEffect, useRef, useState, type KeyboardEvent } from 'react'
import { Button } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import type { Place } from '../place.tsx'
import dialog from '../parts/dialog.module.css'
import { useGo } from '../address.tsx'
import { usePaletteEntries, type Entry } from './palette-entries.ts'
import styles from './shell.module.css'

/** Ctrl K: pages, zones, rules, Workers, jobs, webhooks and request ids by a part of their name. */
export function Palette({ place }: { place: Place }) {
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    const pressed = (event: globalThis.KeyboardEvent): void => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== 'k') return
      event.preventDefault()
      setOpen(true)
    }
    addEventListener('keydown', pressed)
    return () => removeEventListener('keydown', pressed)
  }, [])
  return (
    <Dialog.Root open={isOpen} onOpenChange={setOpen}>
      <Dialog.Trigger render={<Button kind="quiet" icon="search" title="Search (Ctrl K)" />}>
        <span className={styles['searchText']}>
          Search <kbd>Ctrl K</kbd>
        </span>
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className={dialog['backdrop']} />
        <Dialog.Popup className={styles['palette']} aria-label="Search">
          <Results place={place} onDone={() => setOpen(false)} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function Results({ place, onDone }: { place: Place; onDone: () => void }) {
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const go = useGo()
  const input = useRef<HTMLInputElement>(null)
  const shown = usePaletteEntries(place, text)
  const open = (entry: Entry): void => {
    onDone()
    // The manual opens beside the dashboard, whose token may be in memory only.
    if (entry.href) window.open(entry.href, '_blank', 'noopener')
    else if (entry.to) go(entry.to)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      setChosen((chosen + step + shown.length) % Math.max(shown.length, 1))
    }
    const entry = shown[chosen]
    if (event.key === 'Enter' && entry) open(entry)
  }
  return (
    <>
      <input
        ref={input}
        className={styles['paletteInput']}
        role="combobox"
        aria-label="Search pages, zones, rules, Workers, jobs, the manual, a ray id"
        aria-expanded="true"
        aria-controls="palette-results"
        aria-activedescendant={shown[chosen] ? `palette-${chosen}` : undefined}
        placeholder="Search pages, zones, rules, the manual, a ray id"
        value={text}
        autoFocus
        onChange={(event) => {
          setText(event.currentTarget.value)
          setChosen(0)
        }}
        onKeyDown={onKeyDown}
      />
      <ul id="palette-results" role="listbox" aria-label="Results" className={styles['paletteList']}>
        {shown.map((entry, at) => (
          <li
            key={`${entry.kind} ${entry.name} ${at}`}
            id={`palette-${at}`}
            role="option"
            aria-selected={at === chosen}
            className={styles['paletteItem']}
            onMouseEnter={() => setChosen(at)}
            onClick={() => open(entry)}
          >
            <Icon name={entry.icon} />
            <span className="cut">{entry.name}</span>
            <span className={styles['paletteKind']}>{entry.kind}</span>
          </li>
        ))}
        {shown.length === 0 && <li className={styles['popNone']}>Nothing has “{text}” in its name.</li>}
      </ul>
    </>
  )
}
