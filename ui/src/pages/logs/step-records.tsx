import { useState } from 'react'
import { useRead } from '../../api/queries.ts'
import { CheckField, SelectField, TextField } from '../../parts/fields.tsx'
import { Button } from '../../parts/button.tsx'
import { count } from '../../parts/format.ts'
import { Shown } from '../../parts/states.tsx'
import type { Draft, Output } from './draft.ts'
import type { DatasetInfo } from './filter.ts'
import { FilterBuilder } from './filter-builder.tsx'
import type { OwnedJob } from './jobs.ts'
import { RecordPreview } from './record-preview.tsx'
import styles from './logs.module.css'

/** Which records are sent, and which of their fields. */
export function RecordsStep({
  draft,
  job,
  onChange,
  errorAt,
}: {
  draft: Draft
  job: OwnedJob | undefined
  onChange: (part: Partial<Draft>) => void
  errorAt: (pointer: string) => string | undefined
}) {
  const { owner, dataset, output } = draft
  const datasets = useRead<readonly string[]>(`${owner.path}/edged/datasets`)
  const info = useRead<DatasetInfo>(`${owner.path}/edged/datasets/${dataset}`)
  return (
    <>
      <SelectField
        label="Dataset"
        value={dataset}
        disabled={job !== undefined}
        {...(job && { hint: 'The dataset of a job stays. Create another job for another dataset.' })}
        options={(datasets.value ?? [dataset]).map((one) => [one, one])}
        error={errorAt('/dataset')}
        // Fields of one dataset mean nothing in another one.
        onChange={(next) =>
          onChange({ dataset: next, filter: '', output: { ...output, fields: [], merge_subrequests: false } })
        }
      />
      <Shown read={info} what="the fields of the dataset">
        {(known) => (
          <div className={styles['parts']}>
            <FilterBuilder
              key={known.name}
              fields={known.fields}
              filter={draft.filter}
              onChange={(filter) => onChange({ filter })}
              error={errorAt('/filter')}
            />
            <FieldPicker info={known} output={output} onChange={(next) => onChange({ output: next })} />
            {errorAt('/output_options') !== undefined && <p role="alert">{errorAt('/output_options')}</p>}
            <RecordPreview draft={draft} job={job} />
          </div>
        )}
      </Shown>
    </>
  )
}

/** The fields of a record, in the order of their choice. */
function FieldPicker({
  info,
  output,
  onChange,
}: {
  info: DatasetInfo
  output: Output
  onChange: (output: Output) => void
}) {
  const [search, setSearch] = useState('')
  const [isOpen, setOpen] = useState(false)
  const toggle = (name: string, on: boolean): void =>
    onChange({ ...output, fields: on ? [...output.fields, name] : output.fields.filter((one) => one !== name) })
  const usual = info.fields.filter(({ default: isDefault }) => isDefault).length
  const found = info.fields.filter(({ name }) => name.toLowerCase().includes(search.toLowerCase()))
  return (
    <div className={styles['conditions']}>
      <div className={styles['fieldHead']}>
        <strong>Fields</strong>
        <span className="soft">
          {output.fields.length > 0
            ? `${count(output.fields.length, 'field')} of ${info.fields.length}`
            : count(usual, 'default field')}
        </span>
        <Button size="small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Close' : 'Choose fields'}
        </Button>
        {output.fields.length > 0 && (
          <Button size="small" kind="quiet" onClick={() => onChange({ ...output, fields: [] })}>
            Use the default fields
          </Button>
        )}
      </div>
      {output.fields.length > 0 && <p className={`soft ${styles['wrap']}`}>{output.fields.join(', ')}</p>}
      {isOpen && (
        <>
          <TextField
            label="Find a field"
            hideLabel
            placeholder="Find a field"
            type="search"
            value={search}
            onChange={setSearch}
          />
          <div className={styles['fieldList']} role="group" aria-label={`Fields of ${info.name}`} tabIndex={0}>
            {found.map(({ name, type, deprecated }) => (
              <CheckField
                key={name}
                label={
                  <>
                    {name}{' '}
                    <span className="soft">
                      {type}
                      {deprecated && ', deprecated'}
                    </span>
                  </>
                }
                on={output.fields.includes(name)}
                onChange={(on) => toggle(name, on)}
              />
            ))}
          </div>
        </>
      )}
    </div>
  )
}
