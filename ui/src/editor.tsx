import { useEffect, useRef, useState } from 'preact/hooks'
import type { EditorHandle } from './codemirror.ts'
import { get, post } from './api.ts'
import type { Checked, Named } from './expressions.ts'
import { TextArea } from './parts.tsx'
import { usePlace } from './place.ts'

let names: Promise<readonly Named[]> | undefined

/** Returns the names that the editor completes; none if the daemon does not respond, and asks again the next time. */
const namesOf = (path: string): Promise<readonly Named[]> =>
  (names ??= get<readonly Named[]>(path).catch(() => {
    names = undefined
    return []
  }))

/** An editor for expressions: errors at their place, completion of fields. Its code is loaded when it is first shown. */
export function ExpressionEditor({
  value,
  phase,
  label,
  onInput,
}: {
  value: string
  phase: string
  label: string
  onInput: (value: string) => void
}) {
  const { ofAccount } = usePlace()
  const place = useRef<HTMLDivElement>(null)
  const editor = useRef<EditorHandle>(null)
  const input = useRef(onInput)
  input.current = onInput
  const [isPlain, setPlain] = useState(false)
  useEffect(() => {
    let over = false
    void (async () => {
      // Fails if the daemon restarts, or has another version since the page was loaded.
      const code = await import('./codemirror.ts').catch(() => undefined)
      if (over) return
      if (!code) return setPlain(true)
      const { openEditor } = code
      editor.current = openEditor(place.current!, {
        value,
        label,
        names: () => namesOf(`${ofAccount}/edged/expressions/names`),
        check: (expression) => post<Checked>(`${ofAccount}/edged/expressions/check`, { expression, phase }),
        changed: (text) => input.current(text),
      })
    })()
    return () => {
      over = true
      editor.current?.close()
    }
  }, [phase])
  return isPlain ? (
    <TextArea label={label} value={value} onInput={onInput} hint="The editor could not be loaded." />
  ) : (
    <div ref={place} class="editor" />
  )
}
