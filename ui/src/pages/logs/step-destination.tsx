import { useState } from 'react'
import { post } from '../../api/client.ts'
import { useWork } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { Row, SelectField, TextArea, TextField } from '../../parts/fields.tsx'
import { Code } from '../../parts/panel.tsx'
import { Notice } from '../../parts/states.tsx'
import { kindOf, KINDS, MASK, withSecrets, writeDestination, type Destination, type Parameter } from './destination.ts'
import { usualDataset, type Draft } from './draft.ts'
import { reasonOf, useOwners } from './jobs.ts'
import styles from './logs.module.css'

/** Kinds that are shown before "More". */
const FIRST_KINDS = 8

/** Where the records go. `stored`: the destination with its secrets. */
export function DestinationStep({
  draft,
  stored,
  isNew,
  onChange,
  error,
}: {
  draft: Draft
  stored: Destination | undefined
  isNew: boolean
  onChange: (part: Partial<Draft>) => void
  error: string | undefined
}) {
  const owners = useOwners()
  const { destination, owner } = draft
  const kind = kindOf(destination.scheme)
  const change = (part: Partial<Destination>): void => onChange({ destination: { ...destination, ...part } })
  const isMasked = JSON.stringify(destination).includes(MASK)
  return (
    <>
      {isNew && owners.length > 1 && (
        <SelectField
          label="Records of"
          value={owner.path}
          options={owners.map(({ path, name, type }) => [path, type === 'account' ? `The account ${name}` : name])}
          onChange={(path) => {
            const next = owners.find((one) => one.path === path)!
            onChange({ owner: next, ...(next.type !== owner.type && { dataset: usualDataset(next), filter: '' }) })
          }}
        />
      )}
      <KindPicker scheme={destination.scheme} onPick={(scheme) => change({ scheme })} />
      <TextField
        label={kind?.place ?? 'Address'}
        value={destination.place}
        onChange={(place) => change({ place })}
        error={error}
        placeholder={kind?.example ?? ''}
        hint={
          <>
            For example {kind?.example}. <code>{'{DATE}'}</code> becomes the day.
          </>
        }
        required
        mono
      />
      {kind && kind.parameters.length > 0 && (
        <Row>
          {kind.parameters.map((parameter) => (
            <ParameterField
              key={parameter.key}
              parameter={parameter}
              value={destination.values[parameter.key] ?? ''}
              onChange={(value) => change({ values: { ...destination.values, [parameter.key]: value } })}
            />
          ))}
        </Row>
      )}
      {kind?.hasHeaders && (
        <TextArea
          label="Header fields, one per line"
          hint="For example Authorization: Bearer TOKEN"
          rows={2}
          value={destination.headers}
          onChange={(headers) => change({ headers })}
        />
      )}
      {isMasked && <p className="soft">*** stands for a stored secret. It stays unless you write over it.</p>}
      <DestinationTest draft={draft} stored={stored} />
    </>
  )
}

function KindPicker({ scheme, onPick }: { scheme: string; onPick: (scheme: string) => void }) {
  const [areAll, setAll] = useState(KINDS.findIndex((kind) => kind.scheme === scheme) >= FIRST_KINDS)
  const shown = areAll ? KINDS : KINDS.slice(0, FIRST_KINDS)
  return (
    <fieldset className={styles['kinds']} aria-label="Kind of destination">
      {shown.map((kind) => (
        <button
          key={kind.scheme}
          type="button"
          className={styles['kind']}
          aria-pressed={kind.scheme === scheme}
          onClick={() => onPick(kind.scheme)}
        >
          {kind.name}
        </button>
      ))}
      {!areAll && (
        <Button kind="quiet" onClick={() => setAll(true)}>
          {KINDS.length - FIRST_KINDS} more…
        </Button>
      )}
    </fieldset>
  )
}

function ParameterField({
  parameter: { key, label, isSecret = false, isRequired = false, hint, values },
  value,
  onChange,
}: {
  parameter: Parameter
  value: string
  onChange: (value: string) => void
}) {
  if (values)
    return (
      <SelectField
        label={label}
        {...(hint !== undefined && { hint })}
        value={value}
        options={values.map((one) => [
          one,
          one === '' ? 'Default' : one === 'true' ? 'Yes' : one === 'false' ? 'No' : one,
        ])}
        onChange={onChange}
      />
    )
  return (
    <TextField
      key={key}
      label={label}
      {...(hint !== undefined && { hint })}
      // Stars are shown as they are: they say that a secret is stored.
      secret={isSecret && value !== MASK}
      required={isRequired}
      value={value}
      onChange={onChange}
    />
  )
}

/** What the receiver made of a test. */
interface Tested {
  readonly valid: boolean
  readonly message: string
  readonly edged?: { readonly status: number | null; readonly body: string | null }
}

/** Sends a test to the destination and shows what the receiver answers. */
function DestinationTest({ draft, stored }: { draft: Draft; stored: Destination | undefined }) {
  const [tested, setTested] = useState<string>()
  const conf = writeDestination(stored ? withSecrets(draft.destination, stored) : draft.destination)
  const test = useWork(async () => {
    const result = await post<Tested>(`${draft.owner.path}/logpush/validate/destination`, {
      destination_conf: conf,
    })
    setTested(conf)
    return result
  }, [])
  const [result, setResult] = useState<Tested>()
  const run = async (): Promise<void> => {
    setResult(undefined)
    setResult(await test.run().catch((error: unknown) => ({ valid: false, message: String(error) })))
  }
  const isCurrent = tested === conf || test.failure !== undefined
  return (
    <div className={styles['answer']}>
      <div>
        <Button busy={test.busy} disabled={draft.destination.place.trim() === ''} onClick={() => void run()}>
          Test
        </Button>
      </div>
      <div aria-live="polite">
        {result && isCurrent && (
          <Notice kind={result.valid ? 'ok' : 'bad'}>
            {result.valid ? 'The receiver accepts records.' : reasonOf(result.message)}
          </Notice>
        )}
        {result?.edged?.body && isCurrent && <Code label="Answer of the receiver" text={result.edged.body} />}
      </div>
    </div>
  )
}
