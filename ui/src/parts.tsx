import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import type { Read } from './hooks.ts'

/** A message about a failure, read out by screen readers. */
export const Problem = ({ text }: { text: string | undefined }) =>
  text === undefined ? null : (
    <p class="problem" role="alert">
      {text}
    </p>
  )

/** Shows a value of the API once it is there, its error, or that it is being read. */
export function Loaded<T>({ read, children }: { read: Read<T>; children: (value: T) => ComponentChildren }) {
  return (
    <>
      <Problem text={read.error} />
      {read.value === undefined ? read.error === undefined && <p class="soft">Loading…</p> : children(read.value)}
    </>
  )
}

/** A labelled control. */
export function Field({
  label,
  hint,
  children,
}: {
  label: string
  hint?: string
  children: (id: string, described: string | undefined) => ComponentChildren
}) {
  const id = useId()
  const described = hint === undefined ? undefined : `${id}-hint`
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(id, described)}
      {hint !== undefined && (
        <small id={described} class="soft">
          {hint}
        </small>
      )}
    </div>
  )
}

export function TextField({
  label,
  hint,
  value,
  onInput,
  secret = false,
  required = false,
}: {
  label: string
  hint?: string
  value: string
  onInput: (value: string) => void
  /** Its characters are not shown. */
  secret?: boolean
  required?: boolean
}) {
  return (
    <Field label={label} {...(hint !== undefined && { hint })}>
      {(id, described) => {
        const common = {
          id,
          value,
          required,
          'aria-describedby': described,
          autocomplete: 'off' as const,
          spellcheck: false,
          onInput: (event: Event) => onInput((event.currentTarget as HTMLInputElement).value),
        }
        return secret ? <input {...common} type="password" /> : <input {...common} type="text" />
      }}
    </Field>
  )
}

export function Choice({
  label,
  value,
  options,
  onChange,
}: {
  label: string
  value: string
  options: readonly (readonly [value: string, name: string])[]
  onChange: (value: string) => void
}) {
  return (
    <Field label={label}>
      {(id) => (
        <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          {options.map(([option, name]) => (
            <option key={option} value={option}>
              {name}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

/** A switch with two states. */
export function Toggle({
  label,
  on,
  disabled,
  onChange,
}: {
  label: string
  on: boolean
  disabled?: boolean
  onChange: (on: boolean) => void
}) {
  return (
    <button
      type="button"
      role="switch"
      class="toggle"
      aria-checked={on}
      aria-label={label}
      disabled={disabled}
      onClick={() => onChange(!on)}
    >
      <span />
    </button>
  )
}

/** A table that scrolls sideways, with the keyboard too. */
export function Table<T>({
  caption,
  columns,
  rows,
  empty,
}: {
  caption: string
  columns: readonly (readonly [title: string, cell: (row: T) => ComponentChildren])[]
  rows: readonly T[]
  empty: string
}) {
  if (rows.length === 0) return <p class="soft">{empty}</p>
  return (
    <div class="scroll" role="region" aria-label={caption} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map(([title]) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {columns.map(([title, cell]) => (
                <td key={title}>{cell(row)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

export const Badge = ({ good, children }: { good: boolean | undefined; children: ComponentChildren }) => (
  <span class={`badge ${good === undefined ? '' : good ? 'good' : 'bad'}`}>{children}</span>
)

export const Panel = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <section class="panel">
    <h2>{title}</h2>
    {children}
  </section>
)

/** A point in time, in the time zone of the reader. */
export const Time = ({ at }: { at: string | null | undefined }) =>
  at ? <time dateTime={at}>{new Date(at).toLocaleString()}</time> : <span class="soft">–</span>

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB']

/** Returns a size with its unit. */
export function bytes(size: number): string {
  const at = size < 1 ? 0 : Math.min(Math.floor(Math.log10(size) / 3), UNITS.length - 1)
  return `${(size / 1000 ** at).toFixed(at === 0 ? 0 : 1)} ${UNITS[at]}`
}

export const percent = (part: number, whole: number): string =>
  whole === 0 ? '–' : `${((100 * part) / whole).toFixed(1)} %`
