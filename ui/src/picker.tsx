import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { messageOf } from './api.ts'

/** A thing that a picker offers. */
interface Named {
  readonly id: string
  readonly name: string
}

/** One page of what matches a text. */
export interface Matches<T> {
  readonly items: readonly T[]
  readonly total: number
}

interface PickerProps<T> {
  readonly label: string
  readonly value: T
  /** Returns a page of what matches, from page 1. */
  readonly find: (text: string, page: number) => Promise<Matches<T>>
  readonly onPick: (picked: T) => void
}

const TYPING_MS = 150

/** A choice among many by typing a part of the name (the combobox pattern of ARIA); more pages are read at the end of the list. */
export function Picker<T extends Named>({ label, value, find, onPick }: PickerProps<T>) {
  const id = useId()
  const [open, setOpen] = useState(false)
  const [text, setText] = useState('')
  const [active, setActive] = useState(0)
  const list = useRef<HTMLUListElement>(null)
  const { matches, error, more } = useMatches(open, text, find)
  const items = matches?.items ?? []
  const close = () => {
    setOpen(false)
    setText('')
    setActive(0)
  }
  const pick = (picked: T | undefined) => {
    close()
    if (picked && picked.id !== value.id) onPick(picked)
  }
  const move = (to: number) => {
    setOpen(true)
    if (items.length === 0) return
    const next = Math.max(0, Math.min(to, items.length - 1))
    setActive(next)
    list.current?.children[next]?.scrollIntoView({ block: 'nearest' })
    if (next === items.length - 1) more()
  }
  const KEYS: Readonly<Record<string, () => void>> = {
    ArrowDown: () => move(open ? active + 1 : 0),
    ArrowUp: () => move(active - 1),
    PageDown: () => move(active + 10),
    PageUp: () => move(active - 10),
    Enter: () => open && pick(items[active]),
    Escape: close,
  }
  return (
    <div class="field picker">
      <label for={id}>{label}</label>
      <input
        id={id}
        role="combobox"
        aria-expanded={open}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={open && items[active] ? `${id}-${active}` : undefined}
        autocomplete="off"
        spellcheck={false}
        value={open ? text : value.name}
        placeholder={value.name}
        onFocus={(event) => event.currentTarget.select()}
        onClick={() => setOpen(true)}
        onBlur={close}
        onInput={(event) => {
          setText(event.currentTarget.value)
          setActive(0)
          setOpen(true)
        }}
        onKeyDown={(event) => {
          const act = KEYS[event.key]
          if (!act) return
          event.preventDefault()
          act()
        }}
      />
      {open && (
        <div class="choices">
          <ul
            ref={list}
            id={`${id}-list`}
            role="listbox"
            aria-label={label}
            onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) =>
              scrollTop + clientHeight > scrollHeight - 40 && more()
            }
          >
            {items.map((item, at) => (
              <li
                key={item.id}
                id={`${id}-${at}`}
                role="option"
                aria-selected={at === active}
                // Before the input loses the focus.
                onMouseDown={(event) => (event.preventDefault(), pick(item))}
              >
                {item.name}
              </li>
            ))}
          </ul>
          <p class="soft" aria-live="polite">
            {error ?? (matches ? `${items.length} of ${matches.total.toLocaleString()}, type to search` : 'Loading…')}
          </p>
        </div>
      )}
    </div>
  )
}

/** Reads what matches a text while the list is open; `more` reads the next page. */
function useMatches<T>(open: boolean, text: string, find: PickerProps<T>['find']) {
  const [state, setState] = useState<{ text: string; pages: number; matches?: Matches<T>; error?: string }>()
  const [pages, setPages] = useState(1)
  const finder = useRef(find)
  finder.current = find
  useEffect(() => setPages(1), [text, open])
  useEffect(() => {
    if (!open) return setState(undefined)
    let over = false
    const read = async () => {
      try {
        const { items, total } = await finder.current(text, pages)
        if (over) return
        setState((old) => ({
          text,
          pages,
          matches: { items: pages === 1 ? items : [...(old?.matches?.items ?? []), ...items], total },
        }))
      } catch (reason) {
        if (!over) setState((old) => ({ text, pages, ...(pages > 1 && old), error: messageOf(reason) }))
      }
    }
    const timer = setTimeout(() => void read(), pages === 1 && text !== '' ? TYPING_MS : 0)
    return () => {
      over = true
      clearTimeout(timer)
    }
  }, [open, text, pages])
  const { matches, error } = state ?? {}
  const more = () => {
    if (state?.text !== text || state.pages !== pages || !matches || matches.items.length >= matches.total) return
    setPages(pages + 1)
  }
  return { matches, error, more }
}
