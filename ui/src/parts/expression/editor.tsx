import { useEffect, useRef, useState } from 'react'
import { TextArea } from '../fields.tsx'
import type { Found } from './check.ts'
import type { EditorHandle } from './codemirror.ts'
import type { Language } from './use-language.ts'

/** An editor for expressions. Its code is loaded when it is first shown. */
export function ExpressionEditor({
  value,
  label,
  language,
  found,
  onChange,
}: {
  value: string
  label: string
  language: Language | undefined
  found: readonly Found[]
  onChange: (value: string) => void
}) {
  const place = useRef<HTMLDivElement>(null)
  const editor = useRef<EditorHandle>(undefined)
  const latest = useRef({ value, language, found, onChange })
  const [isPlain, setPlain] = useState(false)
  useEffect(() => {
    latest.current = { value, language, found, onChange }
    editor.current?.show(value)
    editor.current?.mark(found)
  })
  useEffect(() => {
    let isOver = false
    void (async () => {
      // Fails if the daemon restarts, or has another version since the page was loaded.
      const code = await import('./codemirror.ts').catch(() => undefined)
      if (isOver) return
      if (!code || !place.current) return setPlain(true)
      editor.current = code.openEditor(place.current, {
        value: latest.current.value,
        label,
        names: () => latest.current.language?.names ?? [],
        lists: () => latest.current.language?.lists ?? [],
        changed: (text) => {
          if (text !== latest.current.value) latest.current.onChange(text)
        },
      })
      editor.current.mark(latest.current.found)
    })()
    return () => {
      isOver = true
      editor.current?.close()
      editor.current = undefined
    }
  }, [label])
  return isPlain ? (
    <TextArea label={label} value={value} onChange={onChange} hint="The editor could not be loaded." />
  ) : (
    <div ref={place} />
  )
}
