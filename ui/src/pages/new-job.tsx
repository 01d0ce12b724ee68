import { useState } from 'preact/hooks'
import { placed, post } from '../api.ts'
import { useRead, useWork } from '../hooks.ts'
import { Choice, Loaded, Panel, Problem, TextArea, TextField } from '../parts.tsx'
import type { DatasetInfo } from './dataset-info.ts'
import { FilterPart } from './filter-part.tsx'
import { NO_OUTPUT, OutputFields, outputOptions, type Output } from './output-fields.tsx'

const PLACED = ['/name', '/dataset', '/destination_conf', '/filter', '/output_options/sample_rate']

/** A form for a job of an account or zone, whose path is `of`. */
export function NewJob({ of, usual, onDone }: { of: string; usual: string; onDone: () => void }) {
  const [dataset, setDataset] = useState(usual)
  const [name, setName] = useState('')
  const [destination, setDestination] = useState('')
  const [filter, setFilter] = useState('')
  const [output, setOutput] = useState<Output>(NO_OUTPUT)
  const [notice, setNotice] = useState('')
  const datasets = useRead<readonly string[]>(`${of}/edged/datasets`)
  const info = useRead<DatasetInfo>(`${of}/edged/datasets/${dataset}`)
  const { busy, failure, run } = useWork()
  const { at, rest } = placed(failure, PLACED)
  const store = async () => {
    await post(`${of}/logpush/jobs`, {
      ...(name !== '' && { name }),
      destination_conf: destination,
      dataset,
      enabled: true,
      ...(filter.trim() !== '' && { filter }),
      ...outputOptions(output),
    })
    setNotice('The job is stored and runs.')
    onDone()
  }
  const test = async () => {
    const { valid, message } = await post<{ valid: boolean; message?: string }>(`${of}/logpush/validate/destination`, {
      destination_conf: destination,
    })
    setNotice(valid ? 'The destination accepts records.' : `The destination does not work: ${message}`)
  }
  return (
    <Panel title="New job">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          run(store)
        }}
      >
        <TextField label="Name" value={name} onInput={setName} error={at('/name')} />
        <TextField
          label="Destination"
          value={destination}
          onInput={setDestination}
          error={at('/destination_conf')}
          required
          hint="For example s3://bucket/logs/{DATE}?region=eu-central-1. All forms are in the documentation."
        />
        <Choice
          label="Dataset"
          value={dataset}
          options={(datasets.value ?? [dataset]).map((one) => [one, one])}
          error={at('/dataset')}
          onChange={(chosen) => {
            setDataset(chosen)
            // Fields of one dataset mean nothing in another one.
            setFilter('')
            setOutput({ ...output, fields: [], merge_subrequests: false })
          }}
        />
        <TextArea
          label="Filter"
          hint='JSON, for example {"where":{"key":"EdgeResponseStatus","operator":"geq","value":500}}'
          value={filter}
          onInput={setFilter}
          error={at('/filter')}
        />
        <Loaded read={info}>
          {(known) => (
            <>
              <FilterPart key={known.name} fields={known.fields} filter={filter} onFilter={setFilter} />
              <OutputFields info={known} output={output} onOutput={setOutput} at={at} />
            </>
          )}
        </Loaded>
        <div class="row">
          <button
            type="button"
            aria-disabled={busy || destination === ''}
            onClick={() => destination !== '' && run(test)}
          >
            Test the destination
          </button>
          <button type="submit" class="main" aria-disabled={busy}>
            Create the job
          </button>
        </div>
        <p aria-live="polite">{failure === undefined && notice}</p>
        <Problem text={rest} />
      </form>
    </Panel>
  )
}
