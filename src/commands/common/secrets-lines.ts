import type { SecretsStatus } from '../../daemon/state/status.js'

/** One line about the keys of secrets. `warn`: something is left to do. */
export interface SecretsLine {
  readonly level: 'ok' | 'warn'
  readonly message: string
}

/** Describes which keys encrypt the secrets of an installation, and which old key can be removed. */
export function secretsLines(status: SecretsStatus): SecretsLine[] {
  const { key, configured_key: wanted, waits_for: waitsFor, sealed, unreadable, removable_keys: removable } = status
  const lines: SecretsLine[] = []
  const count = (id: string): string => `${sealed[id] ?? 0} sealed by key ${id}`
  if (wanted !== key)
    lines.push({
      level: 'warn',
      message: `${count(key)}; key ${wanted} is used when it is the first one of every machine, it is not on: ${waitsFor.join(', ') || '-'}`,
    })
  else lines.push({ level: 'ok', message: count(key) })
  for (const id of Object.keys(sealed).filter((id) => id !== key && id !== wanted))
    lines.push(
      removable.includes(id)
        ? { level: 'warn', message: `${count(id)}: remove this old key from secrets of every machine` }
        : { level: 'warn', message: `${count(id)}: keep this old key until nothing needs it` },
    )
  if (unreadable > 0)
    lines.push({
      level: 'warn',
      message: `${unreadable} that no configured key opens; name their key in secrets.old_keys`,
    })
  return lines
}
