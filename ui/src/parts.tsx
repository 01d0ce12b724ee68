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

/** The error of a read, with a button to repeat it. */
export const Unread = ({ read }: { read: Pick<Read<unknown>, 'error' | 'reload'> }) =>
  read.error === undefined ? null : (
    <div class="row">
      <Problem text={read.error} />
      <button type="button" onClick={read.reload}>
        Try again
      </button>
    </div>
  )

/** Shows a value of the API once it is there, its error, or that it is being read. */
export function Loaded<T>({ read, children }: { read: Read<T>; children: (value: T) => ComponentChildren }) {
  return (
    <>
      <Unread read={read} />
      {read.value === undefined ? read.error === undefined && <p class="soft">Loading…</p> : children(read.value)}
    </>
  )
}

/** Attributes that connect a control with its hint and its error. */
interface Described {
  readonly 'aria-describedby': string | undefined
  readonly 'aria-invalid': true | undefined
}

/** A labelled control, with its error below. */
export function Field({
  label,
  hint,
  error,
  children,
}: {
  label: string
  hint?: string | undefined
  error?: string | undefined
  children: (id: string, described: Described) => ComponentChildren
}) {
  const id = useId()
  const ids = [error !== undefined && `${id}-error`, hint !== undefined && `${id}-hint`].filter((one) => one !== false)
  const described: Described = {
    'aria-describedby': ids.length > 0 ? ids.join(' ') : undefined,
    'aria-invalid': error === undefined ? undefined : true,
  }
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(id, described)}
      {error !== undefined && (
        <small id={`${id}-error`} class="bad" role="alert">
          {error}
        </small>
      )}
      {hint !== undefined && (
        <small id={`${id}-hint`} class="soft">
          {hint}
        </small>
      )}
    </div>
  )
}

export function TextField({
  label,
  hint,
  error,
  value,
  onInput,
  secret = false,
  required = false,
}: {
  label: string
  hint?: string
  error?: string | undefined
  value: string
  onInput: (value: string) => void
  /** Its characters are not shown. */
  secret?: boolean
  required?: boolean
}) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(id, described) => {
        const common = {
          id,
          value,
          required,
          ...described,
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
  error,
  value,
  options,
  onChange,
}: {
  label: string
  error?: string | undefined
  value: string
  options: readonly (readonly [value: string, name: string])[]
  onChange: (value: string) => void
}) {
  return (
    <Field label={label} error={error}>
      {(id, described) => (
        <select id={id} {...described} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
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

export const Badge = ({ good, children }: { good: boolean | undefined; children: ComponentChildren }) => (
  <span class={`badge ${good === undefined ? '' : good ? 'good' : 'bad'}`}>{children}</span>
)

export const Panel = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <section class="panel">
    <h2>{title}</h2>
    {children}
  </section>
)

const TIME = new Intl.DateTimeFormat(undefined, { dateStyle: 'short', timeStyle: 'medium' })

/** A point in time, in the time zone of the reader. */
export const Time = ({ at }: { at: string | null | undefined }) =>
  at ? <time dateTime={at}>{TIME.format(new Date(at))}</time> : <span class="soft">–</span>

/** Several lines of text, as JSON. */
export const TextArea = ({
  rows = 2,
  value,
  onInput,
  ...field
}: {
  label: string
  hint?: string
  error?: string | undefined
  rows?: number
  value: string
  onInput: (value: string) => void
}) => (
  <Field {...field}>
    {(id, described) => (
      <textarea
        id={id}
        {...described}
        rows={rows}
        value={value}
        spellcheck={false}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    )}
  </Field>
)

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB']

/** Returns a size with its unit. */
export function bytes(size: number): string {
  const at = size < 1 ? 0 : Math.min(Math.floor(Math.log10(size) / 3), UNITS.length - 1)
  return `${(size / 1000 ** at).toFixed(at === 0 ? 0 : 1)} ${UNITS[at]}`
}

export const percent = (part: number, whole: number): string =>
  whole === 0 ? '–' : `${((100 * part) / whole).toFixed(1)} %`
