import { useState } from 'react'
import { sendWhole } from '../../api/client.ts'
import { useWork } from '../../api/queries.ts'
import { useGo } from '../../address.tsx'
import { Field, SelectField, TextField } from '../../parts/fields.tsx'
import { Sheet, SheetForm } from '../../parts/sheet.tsx'
import { useToast } from '../../parts/toast.tsx'
import { usePlace } from '../../place.tsx'
import { scriptPath, type Script } from './worker.ts'

const TYPES: Readonly<Record<string, string>> = {
  wasm: 'application/wasm',
  json: 'application/json',
  txt: 'text/plain',
  html: 'text/plain',
  bin: 'application/octet-stream',
}
const typeOf = (name: string): string => TYPES[name.split('.').at(-1) ?? ''] ?? 'application/javascript+module'

const today = (): string => new Date().toISOString().slice(0, 10)

/** Uploads the modules of a Worker and deploys them. Those of an existing one keep its bindings and settings. */
export function UploadSheet({ script, onClose }: { script?: Script; onClose: () => void }) {
  const { ofAccount } = usePlace()
  const go = useGo()
  const toast = useToast()
  const [name, setName] = useState(script?.id ?? '')
  const [date, setDate] = useState(today)
  const [files, setFiles] = useState<readonly File[]>([])
  const [main, setMain] = useState('')
  const entry = files.find((file) => file.name === main) ?? files[0]
  const upload = useWork(async () => {
    const form = new FormData()
    const metadata = { main_module: entry!.name, ...(!script && { compatibility_date: date }) }
    form.append('metadata', JSON.stringify(metadata))
    for (const file of files) form.append(file.name, new File([file], file.name, { type: typeOf(file.name) }))
    const path = scriptPath(ofAccount, name)
    return await sendWhole('PUT', script ? `${path}/content` : path, form)
  }, [`${ofAccount}/workers`])
  const submit = async (): Promise<void> => {
    const { messages } = await upload.run()
    toast([`${name} is deployed.`, ...messages.map(({ message }) => message)].join(' '))
    if (script) onClose()
    else go({ rest: [name] })
  }
  return (
    <Sheet
      title={script ? `Upload a version of ${script.id}` : 'Upload a Worker'}
      onClose={onClose}
      isDirty={files.length > 0 && !upload.busy}
    >
      <SheetForm
        verb="Upload and deploy"
        busy={upload.busy}
        failure={upload.failure}
        onSubmit={() => void submit().catch(() => undefined)}
        onCancel={onClose}
      >
        {!script && (
          <TextField
            label="Name"
            value={name}
            onChange={setName}
            placeholder="api-gateway"
            hint="Lower case letters, digits, - and _."
            required
          />
        )}
        <Field
          label="Modules"
          hint="One ES module, or several files. wrangler builds larger Workers."
          error={upload.error}
        >
          {(control) => (
            <input
              {...control}
              type="file"
              accept=".js,.mjs,.wasm,.json,.txt,.html,.bin"
              multiple
              required
              onChange={(event) => setFiles([...(event.currentTarget.files ?? [])])}
            />
          )}
        </Field>
        {files.length > 1 && (
          <SelectField
            label="Main module"
            value={entry?.name ?? ''}
            options={files.map((file) => [file.name, file.name])}
            onChange={setMain}
          />
        )}
        {script ? (
          <p className="soft">Bindings, variables, secrets and settings stay as they are.</p>
        ) : (
          <TextField label="Compatibility date" value={date} onChange={setDate} required />
        )}
      </SheetForm>
    </Sheet>
  )
}
