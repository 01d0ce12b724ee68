import { Dialog } from '@base-ui/react/dialog'
import { useEffect, useState } from 'react'
import { pagesOf } from '../pages/index.ts'
import { IconButton } from '../parts/button.tsx'
import type { Place } from '../place.tsx'
import dialog from '../parts/dialog.module.css'
import styles from './shell.module.css'

const KEYS: readonly (readonly [keys: readonly string[], text: string])[] = [
  [['Ctrl', 'K'], 'Search pages, zones, rules, the manual, a ray id'],
  [['/'], 'Go to the search of the page'],
  [['t'], 'Choose the range'],
  [['j'], 'Next row, or the first one'],
  [['k'], 'Row before, or the last one'],
  [['Enter'], 'Open the row'],
  [['e'], 'Edit the row'],
  [['x'], 'Select the row, if the table has check boxes'],
  [['Alt', '↑'], 'Move a rule up'],
  [['Alt', '↓'], 'Move a rule down'],
  [['Esc'], 'Close a sheet or a menu'],
  [['?'], 'This list'],
]

/** `?`: the keys of the dashboard. */
export function Keys({ place }: { place: Place }) {
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    const asked = (): void => setOpen(true)
    document.addEventListener('edged:keys', asked)
    return () => document.removeEventListener('edged:keys', asked)
  }, [])
  const pages = pagesOf(place).flatMap(({ key, title }) => (key === undefined ? [] : [[['g', key], title] as const]))
  return (
    <Dialog.Root open={isOpen} onOpenChange={setOpen}>
      <Dialog.Portal>
        <Dialog.Backdrop className={dialog['backdrop']} />
        <Dialog.Popup className={dialog['confirm']}>
          <header className={styles['keysHead']}>
            <Dialog.Title>Keys</Dialog.Title>
            <IconButton icon="x" label="Close" onClick={() => setOpen(false)} />
          </header>
          <dl className={styles['keys']}>
            {[...KEYS, ...pages].map(([keys, text]) => (
              <div key={text}>
                <dt>
                  {keys.map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </dt>
                <dd>{text}</dd>
              </div>
            ))}
          </dl>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
