import type { ComponentProps, ReactNode } from 'react'
import { Icon, type IconName } from './icon.tsx'
import styles from './button.module.css'

export interface ButtonProps extends Omit<ComponentProps<'button'>, 'className'> {
  /** `primary`: one in a view. `danger`: deletes. `quiet`: without a border, for rows and heads. */
  readonly kind?: 'primary' | 'plain' | 'danger' | 'quiet'
  readonly icon?: IconName
  /** Waits for a response: says so and takes no second click. */
  readonly busy?: boolean
  readonly size?: 'small' | 'normal'
  readonly children?: ReactNode
}

export function Button({
  kind = 'plain',
  icon,
  busy = false,
  size = 'normal',
  children,
  type = 'button',
  onClick,
  ...rest
}: ButtonProps) {
  return (
    <button
      {...rest}
      type={type}
      className={styles['button']}
      data-kind={kind}
      data-size={size}
      aria-busy={busy || undefined}
      onClick={(event) => (busy ? event.preventDefault() : onClick?.(event))}
    >
      {busy ? <span className={styles['spinner']} /> : icon && <Icon name={icon} />}
      {children}
    </button>
  )
}

/** A button with an icon alone. `label` is its name and its tooltip. */
export const IconButton = ({
  icon,
  label,
  ...rest
}: Omit<ButtonProps, 'children' | 'icon'> & { icon: IconName; label: string }) => (
  <Button kind="quiet" {...rest} icon={icon} aria-label={label} title={rest.title ?? label} />
)
