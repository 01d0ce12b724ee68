import { useEffect, useRef } from 'preact/hooks'
import type { EditorHandle } from './codemirror.ts'
import { get, post } from './api.ts'
import type { Checked, Named } from './expressions.ts'
import { usePlace } from './place.ts'

let names: Promise<readonly Named[]> | undefined

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
  useEffect(() => {
    let over = false
    void (async () => {
      const { openEditor } = await import('./codemirror.ts')
      if (over) return
      names ??= get<readonly Named[]>(`${ofAccount}/edged/expressions/names`)
      editor.current = openEditor(place.current!, {
        value,
        label,
        names: () => names ?? Promise.resolve([]),
        check: (expression) => post<Checked>(`${ofAccount}/edged/expressions/check`, { expression, phase }),
        changed: (text) => input.current(text),
      })
    })()
    return () => {
      over = true
      editor.current?.close()
    }
  }, [phase])
  return <div ref={place} class="editor" />
}
