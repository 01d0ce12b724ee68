import type { BackupStatus } from '../daemon/backups/schedule.js'
import { stateText, type DaemonStatus, type OriginStatus } from '../daemon/state/status.js'
import { missingText } from '../tls/acme/served-names.js'
import { ADMIN_HELP, ownDaemon, type AdminOptions } from './common/admin-client.js'
import { bytesText } from './common/bytes-text.js'
import { keptText } from '../daemon/config/kept-rules.js'
import { secretsLines } from './common/secrets-lines.js'
import type { DefineCommand } from './common/command.js'

/** `edged status`: what the running daemon serves, and its state. */
export const status: DefineCommand = (command) => {
  command
    .option('-c, --config <file>', 'configuration file of the daemon')
    .option('--admin <address>', 'address of its admin listener, for example 127.0.0.1:9901')
    .option('--json', 'print one object')
    .addHelpText(
      'after',
      `${ADMIN_HELP}\nExit codes: 0 running and ready, 1 not ready, no daemon or another one responds.`,
    )
    .action(async (options: AdminOptions & { json?: boolean }) => {
      const found = await ownDaemon(options)
      process.stdout.write(options.json ? `${JSON.stringify(found)}\n` : described(found))
      process.exitCode = found.ready ? 0 : 1
    })
}

function described(status: DaemonStatus): string {
  const { version, node, pid, ready, reasons, uptime_seconds: uptime, last_reload: last } = status
  const lines = [
    ...attentionLines(status.attention),
    `edged ${version} on Node ${node.slice(1)}, process ${pid}, up ${duration(uptime)}, ${ready ? 'ready' : `not ready: ${reasons.join(', ')}`}`,
    `config    ${status.config_file ?? '-'}${last === null ? '' : `, read again at ${last.at}`}`,
    ...(last?.error ? [`          the last reload failed: ${last.error}`] : []),
    `store     ${status.store}, ${Math.round(status.memory_bytes / 1e6)} MB of memory in use`,
    ...(status.secrets ? secretsLines(status.secrets) : []).map(({ message }) => `secrets   ${message}`),
    ...Object.entries(status.listeners).map(([name, url]) => `${name.padEnd(9)} ${url}`),
    ...status.zones.flatMap(({ name, hostnames, origins }) => [
      `zone      ${name} (${hostnames.join(', ')})`,
      ...origins.map((origin) => `          ${originText(origin)}`),
    ]),
    ...status.certificates.map(
      ({ names, source, not_after: until }) =>
        `certificate ${names.join(', ')} (${source === 'acme' ? 'ACME' : 'file'}), valid until ${until}`,
    ),
    ...status.missing_certificates.map((missing) => `no certificate: ${missingText(missing)}`),
    ...[keptText(status.kept_rules)].flatMap((text) => (text === undefined ? [] : [`rules     ${text}`])),
    ...(status.backup ? backupLines(status.backup) : []),
    ...status.pipelines.map((name) => `pipeline  ${name}`),
    ...status.failing_jobs.map(
      ({ kind, name, destination, error }) =>
        `failing   ${kind} ${name} to ${destination}: ${error ?? 'it waits for a new start'}`,
    ),
    ...status.open_circuit_breakers.map(
      ({ name, webhook_id: id }) =>
        `paused    webhook ${name || id}: its circuit breaker is open after failed deliveries`,
    ),
    ...Object.entries(status.workers).map(([account, names]) => `workers   ${names.join(', ')} (account ${account})`),
  ]
  return `${lines.join('\n')}\n`
}

function backupLines({ to, last, next_at: next, error }: BackupStatus): string[] {
  const size = typeof last?.bytes === 'number' ? ` (${bytesText(last.bytes)})` : ''
  return [
    `backup    to ${to}, last ${last ? `${last.file}${size}` : 'none'}, ${next === null ? 'one is being written' : `next at ${next}`}`,
    ...(error === null ? [] : [`          the last backup failed: ${error}`]),
  ]
}

function originText({ url, state, since, last_error: error, backup }: OriginStatus): string {
  if (state === 'missing') return stateText(state)
  const time = state === 'down' && since !== null ? ` since ${since}` : ''
  return `${url}${backup ? ' (backup)' : ''}: ${stateText(state)}${time}${error === null ? '' : `, last error: ${error}`}`
}

/** What needs attention, before everything else. */
function attentionLines(items: DaemonStatus['attention']): string[] {
  if (items.length === 0) return []
  const lines = items.map(
    ({ severity, text, since }) => `  ${severity.padEnd(7)}  ${text}${since === null ? '' : `, since ${since}`}`,
  )
  return [`Needs attention (${items.length})`, ...lines, '']
}

function duration(seconds: number): string {
  const [days, hours, minutes] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3600) % 24,
    Math.floor(seconds / 60) % 60,
  ]
  if (days > 0) return `${days}d ${hours}h`
  if (hours > 0) return `${hours}h ${minutes}m`
  return minutes > 0 ? `${minutes}m ${seconds % 60}s` : `${seconds}s`
}
