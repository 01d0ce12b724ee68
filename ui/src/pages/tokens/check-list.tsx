import { useState } from 'react'
import { CheckField, TextField } from '../../parts/fields.tsx'
import styles from './tokens.module.css'

/** Boxes to tick, with a search above them. */
export function CheckList({
  label,
  all,
  chosen,
  nameOf = (one) => one,
  onChange,
}: {
  label: string
  all: readonly string[]
  chosen: readonly string[]
  nameOf?: (one: string) => string
  onChange: (chosen: readonly string[]) => void
}) {
  const [text, setText] = useState('')
  const shown = all.filter((one) => nameOf(one).toLowerCase().includes(text.trim().toLowerCase()))
  return (
    <div role="group" aria-label={label} className={styles['checks']}>
      <TextField
        type="search"
        label={`Find in ${label.toLowerCase()}`}
        hideLabel
        placeholder="Find"
        value={text}
        onChange={setText}
      />
      <div className={styles['checkList']}>
        {shown.map((one) => (
          <CheckField
            key={one}
            label={one === '*' ? 'Everything' : nameOf(one)}
            on={chosen.includes(one)}
            onChange={(on) => onChange(on ? [...chosen, one] : chosen.filter((other) => other !== one))}
          />
        ))}
      </div>
    </div>
  )
}
