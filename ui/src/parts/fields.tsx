import { Switch as BaseSwitch } from '@base-ui/react/switch'
import { Field as BaseField } from '@base-ui/react/field'
import { useId, type ReactNode } from 'react'
import styles from './fields.module.css'

interface Labelled {
  readonly label: string
  readonly hint?: ReactNode
  readonly error?: string | undefined
  /** The label is there for screen readers only. */
  readonly hideLabel?: boolean
}

/** Attributes that connect a control with its label, hint and error. */
export interface Described {
  readonly id: string
  readonly 'aria-describedby': string | undefined
  readonly 'aria-invalid': true | undefined
}

/** A labelled control with its hint and its error below. */
export function Field({
  label,
  hint,
  error,
  hideLabel = false,
  children,
}: Labelled & { children: (control: Described) => ReactNode }) {
  const id = useId()
  const ids = [error !== undefined && `${id}-error`, hint !== undefined && `${id}-hint`].filter((one) => one !== false)
  return (
    <BaseField.Root className={styles['field']} invalid={error !== undefined}>
      <label htmlFor={id} className={hideLabel ? 'visually-hidden' : styles['label']}>
        {label}
      </label>
      {children({
        id,
        'aria-describedby': ids.length > 0 ? ids.join(' ') : undefined,
        'aria-invalid': error === undefined ? undefined : true,
      })}
      {error !== undefined && (
        <p id={`${id}-error`} className={styles['error']} role="alert">
          {error}
        </p>
      )}
      {hint !== undefined && (
        <p id={`${id}-hint`} className={styles['hint']}>
          {hint}
        </p>
      )}
    </BaseField.Root>
  )
}

export interface TextFieldProps extends Labelled {
  readonly value: string
  readonly onChange: (value: string) => void
  /** The characters are not shown. */
  readonly secret?: boolean
  readonly required?: boolean
  readonly autoFocus?: boolean
  readonly placeholder?: string
  readonly type?: 'text' | 'number' | 'url' | 'datetime-local' | 'search'
  readonly mono?: boolean
  readonly disabled?: boolean
  readonly min?: number
  readonly max?: number
  /** Values to choose from, or to write another one. */
  readonly suggestions?: readonly string[]
}

export function TextField({
  value,
  onChange,
  secret = false,
  type = 'text',
  mono = false,
  suggestions,
  label,
  hint,
  error,
  hideLabel,
  ...rest
}: TextFieldProps) {
  const list = useId()
  return (
    <Field label={label} hint={hint} error={error} {...(hideLabel !== undefined && { hideLabel })}>
      {(control) => (
        <>
          <input
            {...control}
            {...rest}
            className={styles['input']}
            data-mono={mono || undefined}
            type={secret ? 'password' : type}
            value={value}
            autoComplete="off"
            spellCheck={false}
            list={suggestions ? list : undefined}
            onChange={(event) => onChange(event.currentTarget.value)}
          />
          {suggestions && (
            <datalist id={list}>
              {suggestions.map((one) => (
                <option key={one} value={one} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Field>
  )
}

export const TextArea = ({
  value,
  onChange,
  rows = 3,
  mono = true,
  ...labelled
}: Labelled & { value: string; onChange: (value: string) => void; rows?: number; mono?: boolean }) => (
  <Field {...labelled}>
    {(control) => (
      <textarea
        {...control}
        className={styles['input']}
        data-mono={mono || undefined}
        rows={rows}
        value={value}
        spellCheck={false}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    )}
  </Field>
)

export type Option = readonly [value: string, name: string]

/** One of a few values. The control of the system: it works with keyboards, screen readers and phones. */
export const SelectField = ({
  value,
  options,
  onChange,
  disabled,
  ...labelled
}: Labelled & { value: string; options: readonly Option[]; onChange: (value: string) => void; disabled?: boolean }) => (
  <Field {...labelled}>
    {(control) => (
      <select
        {...control}
        className={styles['input']}
        value={value}
        disabled={disabled}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {options.map(([option, name]) => (
          <option key={option} value={option}>
            {name}
          </option>
        ))}
      </select>
    )}
  </Field>
)

/** A box to tick, with its label on the right. */
export function CheckField({
  label,
  hint,
  on,
  onChange,
  disabled,
}: {
  label: ReactNode
  hint?: string
  on: boolean
  onChange: (on: boolean) => void
  disabled?: boolean
}) {
  const id = useId()
  return (
    <div className={styles['check']}>
      <input
        id={id}
        type="checkbox"
        checked={on}
        disabled={disabled}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <label htmlFor={id}>{label}</label>
      {hint && (
        <p id={`${id}-hint`} className={styles['hint']}>
          {hint}
        </p>
      )}
    </div>
  )
}

/** A switch with two states. `label` is its name for screen readers. */
export const Switch = ({
  label,
  on,
  disabled = false,
  onChange,
}: {
  label: string
  on: boolean
  disabled?: boolean
  onChange: (on: boolean) => void
}) => (
  <BaseSwitch.Root
    className={styles['switch']}
    checked={on}
    disabled={disabled}
    aria-label={label}
    onCheckedChange={onChange}
  >
    <BaseSwitch.Thumb className={styles['thumb']} />
  </BaseSwitch.Root>
)

/** A few choices side by side, one of which is pressed. */
export const Segments = ({
  label,
  value,
  options,
  onChange,
}: {
  label: string
  value: string
  options: readonly Option[]
  onChange: (value: string) => void
}) => (
  <div className={styles['segments']} role="group" aria-label={label}>
    {options.map(([option, name]) => (
      <button key={option} type="button" aria-pressed={option === value} onClick={() => onChange(option)}>
        {name}
      </button>
    ))}
  </div>
)

/** Fields side by side, below each other on a phone. */
export const Row = ({ children }: { children: ReactNode }) => <div className={styles['row']}>{children}</div>
