import { CheckField, Row, SelectField, TextField } from '../../parts/fields.tsx'
import type { Draft, Output } from './draft.ts'

const TYPES = [
  ['', 'NDJSON (default)'],
  ['ndjson', 'NDJSON'],
  ['csv', 'CSV'],
] as const
const TIMES = [
  ['', 'Nanoseconds since 1970 (default)'],
  ['unixnano', 'Nanoseconds since 1970'],
  ['unix', 'Seconds since 1970'],
  ['rfc3339', '2026-11-28T17:40:00Z'],
  ['rfc3339ms', '2026-11-28T17:40:00.123Z'],
  ['rfc3339ns', '2026-11-28T17:40:00.123456789Z'],
] as const

/** How batches are made, what a record looks like, and the name of the job. */
export function DeliveryStep({
  draft,
  onChange,
  errorAt,
}: {
  draft: Draft
  onChange: (part: Partial<Draft>) => void
  errorAt: (pointer: string) => string | undefined
}) {
  const { output } = draft
  const set = (part: Partial<Output>): void => onChange({ output: { ...output, ...part } })
  return (
    <>
      <TextField
        label="Name"
        value={draft.name}
        onChange={(name) => onChange({ name })}
        error={errorAt('/name')}
        hint="Shown in the list and in “Needs attention”."
      />
      <Row>
        <TextField
          label="Send a batch after, in seconds"
          type="number"
          value={draft.seconds}
          onChange={(seconds) => onChange({ seconds })}
          error={errorAt('/max_upload_interval_seconds')}
          hint="30 to 300. Empty: 30."
        />
        <TextField
          label="or with this many records"
          type="number"
          value={draft.records}
          onChange={(records) => onChange({ records })}
          error={errorAt('/max_upload_records')}
          hint="1,000 to 1,000,000. Empty: no limit."
        />
        <TextField
          label="or with this many MB"
          type="number"
          value={draft.megabytes}
          onChange={(megabytes) => onChange({ megabytes })}
          error={errorAt('/max_upload_bytes')}
          hint="5 to 1,000, before compression. Empty: no limit."
        />
      </Row>
      <Row>
        <SelectField
          label="Record format"
          value={output.output_type}
          options={output.output_type === 'ndjson' ? TYPES.slice(1) : TYPES.filter(([value]) => value !== 'ndjson')}
          onChange={(type) => set({ output_type: type })}
        />
        <SelectField
          label="Time format"
          value={output.timestamp_format}
          options={
            output.timestamp_format === 'unixnano' ? TIMES.slice(1) : TIMES.filter(([value]) => value !== 'unixnano')
          }
          onChange={(format) => set({ timestamp_format: format })}
        />
        <TextField
          label="Sample (1 = all)"
          value={output.sample_rate}
          placeholder="1"
          onChange={(rate) => set({ sample_rate: rate })}
          error={errorAt('/output_options/sample_rate')}
          hint="0.1 sends one record of ten."
        />
      </Row>
      {draft.dataset === 'http_requests' && (
        <CheckField
          label="Merge subrequests into their parents"
          on={output.merge_subrequests}
          onChange={(on) => set({ merge_subrequests: on })}
        />
      )}
      <CheckField
        label="Write objects as text"
        on={output.stringify_object}
        onChange={(on) => set({ stringify_object: on })}
      />
      <CheckField
        label="Make ${ harmless (Log4Shell)"
        hint="Writes ${ as x{ in all texts."
        on={output['CVE-2021-44228']}
        onChange={(on) => set({ 'CVE-2021-44228': on })}
      />
    </>
  )
}
