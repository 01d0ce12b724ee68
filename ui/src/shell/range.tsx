import { Popover } from '@base-ui/react/popover'
import { useState } from 'react'
import { useAddress, useGo } from '../address.tsx'
import { Button } from '../parts/button.tsx'
import { TextField } from '../parts/fields.tsx'
import { DEFAULT_RANGE, MINUTE_MS, RANGES, useRange } from '../range.ts'
import styles from './shell.module.css'

const localOf = (date: Date): string =>
  new Date(date.getTime() - date.getTimezoneOffset() * MINUTE_MS).toISOString().slice(0, 16)

export function RangePicker() {
  const range = useRange()
  const address = useAddress()
  const go = useGo()
  const shown = range.key === 'custom' ? range.name : range.key
  const [isOpen, setOpen] = useState(false)
  const [from, setFrom] = useState('')
  const [to, setTo] = useState('')
  const choose = (search: Record<string, string | undefined>): void => {
    setOpen(false)
    const rest = { ...address.search, range: undefined, since: undefined, until: undefined }
    go({ rest: address.rest, search: { ...rest, ...search } }, { replace: true })
  }
  return (
    <Popover.Root
      open={isOpen}
      onOpenChange={(open) => {
        setOpen(open)
        setFrom(localOf(range.since))
        setTo(localOf(range.until))
      }}
    >
      <Popover.Trigger
        render={
          <Button
            kind="quiet"
            icon="calendar"
            aria-label={`Range: ${shown}`}
            title={`Range: ${range.name}`}
            data-range
          />
        }
      >
        <span className={styles['rangeName']}>{shown}</span>
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner className={styles['popPlace']} align="end" sideOffset={6}>
          <Popover.Popup className={styles['pop']} aria-label="Range">
            {Object.entries(RANGES).map(([key, { name }]) => (
              <button
                key={key}
                type="button"
                className={styles['popItem']}
                aria-pressed={key === range.key}
                onClick={() => choose({ range: key === DEFAULT_RANGE ? undefined : key })}
              >
                {name}
              </button>
            ))}
            <form
              className={styles['popForm']}
              onSubmit={(event) => {
                event.preventDefault()
                if (from < to) choose({ since: new Date(from).toISOString(), until: new Date(to).toISOString() })
              }}
            >
              <TextField label="From" type="datetime-local" value={from} onChange={setFrom} required />
              <TextField
                label="To"
                type="datetime-local"
                value={to}
                onChange={setTo}
                required
                error={from !== '' && to !== '' && from >= to ? 'The end has to be after the start.' : undefined}
              />
              <Button type="submit">Show</Button>
            </form>
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  )
}
