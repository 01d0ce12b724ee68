import { useState } from 'preact/hooks'
import { sendWhole } from '../api.ts'
import { useWork } from '../hooks.ts'
import { Field, Problem, TextField } from '../parts.tsx'
import { usePlace } from '../place.ts'

const today = (): string => new Date().toISOString().slice(0, 10)

/** Uploads a script of one ES module and deploys it. Larger ones are uploaded with wrangler. */
export function UploadScript({ onDone }: { onDone: () => void }) {
  const { ofAccount } = usePlace()
  const [name, setName] = useState('')
  const [date, setDate] = useState(today)
  const [file, setFile] = useState<File>()
  const [notice, setNotice] = useState('')
  const { busy, error, run } = useWork()
  const upload = async (module: File) => {
    const form = new FormData()
    form.append('metadata', JSON.stringify({ main_module: module.name, compatibility_date: date }))
    form.append(module.name, new File([module], module.name, { type: 'application/javascript+module' }))
    const { messages } = await sendWhole('PUT', `${ofAccount}/workers/scripts/${encodeURIComponent(name)}`, form)
    setNotice([`${name} is stored and deployed`, ...messages.map(({ message }) => message)].join(': '))
    onDone()
  }
  return (
    <details>
      <summary>Upload a script</summary>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (file) run(() => upload(file))
        }}
      >
        <TextField
          label="Name of the script"
          hint="The name of an existing one adds a version to it. Its bindings are removed: use wrangler for scripts with bindings."
          value={name}
          onInput={setName}
          required
        />
        <Field label="ES module" hint="One file. Use wrangler for scripts of several modules.">
          {(id, described) => (
            <input
              id={id}
              {...described}
              type="file"
              accept=".js,.mjs"
              required
              onChange={(event) => setFile(event.currentTarget.files?.[0])}
            />
          )}
        </Field>
        <TextField label="Compatibility date" value={date} onInput={setDate} required />
        <button type="submit" aria-disabled={busy}>
          Upload and deploy
        </button>
        <p aria-live="polite">{error === undefined && notice}</p>
        <Problem text={error} />
      </form>
    </details>
  )
}
