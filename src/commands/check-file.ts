import { agentWarnings } from './agent-warnings.js'
import { readConfig } from '../config/load.js'
import type { Config } from '../config/schema.js'
import { readText, readYaml, type ConfigIssue } from '../config/yaml.js'
import { isPipelineFile, readPipelines } from '../config/pipeline-file.js'
import { systemClock } from '../core/clock.js'
import type { Issue } from '../core/errors.js'
import { silentLog } from '../core/log.js'
import { redact } from '../../sinks/index.js'
import { missingInFile } from '../daemon/certificates/certificates.js'
import { missingText } from '../tls/acme/served-names.js'
import { destinationChecks } from '../daemon/pipelines/destinations.js'

/** Returns the warnings about served names that get no certificate, at the zones that serve them. */
function certificateWarnings(config: Config): Issue[] {
  const missing = missingInFile(config)
  const places = new Map(config.zones.map(({ id }, index) => [id, index]))
  return missing.map((one) => {
    const index = places.get(one.zone_id) ?? 0
    const at = config.zones[index]?.hostnames?.findIndex((name) => name.toLowerCase() === one.name) ?? -1
    const pointer = at < 0 ? `/zones/${index}/name` : `/zones/${index}/hostnames/${at}`
    return { pointer, message: missingText(one) }
  })
}

/** Returns the warnings at their places in the file. */
function placedWarnings(config: Config, text: string, file: string): ConfigIssue[] {
  const warnings = [...certificateWarnings(config), ...agentWarnings(config)]
  if (warnings.length === 0) return []
  const yaml = readYaml(text, file, process.env)
  return warnings.flatMap(({ pointer, message }) =>
    yaml.placed([{ pointer, message: '' }]).map((issue) => ({ ...issue, message })),
  )
}

/** Validates a configuration or pipeline file and prints the outcome. Throws a BadConfig. */
export function checkFile(file: string, { json }: { json?: boolean }): void {
  const text = readText(file)
  const checks = destinationChecks({ clock: systemClock, log: silentLog })
  if (isPipelineFile(text, file)) {
    const pipelines = readPipelines(text, file, checks)
    const report = json
      ? JSON.stringify(
          pipelines.map(({ name }) => ({ name })),
          null,
          2,
        )
      : `${file}: ok`
    return void process.stdout.write(`${report}\n`)
  }
  const config = readConfig(text, file, process.env, checks)
  for (const { line, column, message } of placedWarnings(config, text, file))
    process.stderr.write(`${file}:${line}:${column}: warning: ${message}\n`)
  if (!json) return void process.stdout.write(`${file}: ok\n`)
  const { tokens, legacy_keys: legacyKeys, secrets, places: _places, ...shown } = config
  const names = {
    tokens: tokens.map(({ name }) => ({ name })),
    legacy_keys: legacyKeys.map(({ email }) => ({ email })),
    pipelines: shown.pipelines.map(({ name }) => ({ name })),
    store: shown.store.replace(/\/\/.*@/, '//'),
  }
  const { dead_letter: deadLetter } = shown.logpush
  const logpush = { ...shown.logpush, ...(deadLetter !== undefined && { dead_letter: redact(deadLetter) }) }
  process.stdout.write(
    `${JSON.stringify({ ...shown, logpush, secrets: { key_file: secrets.key_file }, ...names }, withoutHashes, 2)}\n`,
  )
}

/** Leaves the names of users without the hashes of their passwords. */
function withoutHashes(key: string, value: unknown): unknown {
  if (key !== 'basic' || typeof value !== 'object' || value === null || !('users' in value)) return value
  return { ...value, users: Object.keys(value.users ?? {}) }
}
