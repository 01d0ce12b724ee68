import { readConfig } from '../config/load.js'
import { readText } from '../config/yaml.js'
import { isPipelineFile, readPipelines } from '../config/pipeline-file.js'
import { systemClock } from '../core/clock.js'
import { silentLog } from '../core/log.js'
import { redact } from '../../sinks/index.js'
import { destinationChecks } from '../daemon/pipelines/destinations.js'

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
  if (!json) return void process.stdout.write(`${file}: ok\n`)
  const { tokens, legacy_keys: legacyKeys, secrets, ...shown } = config
  const names = {
    tokens: tokens.map(({ name }) => ({ name })),
    legacy_keys: legacyKeys.map(({ email }) => ({ email })),
    pipelines: shown.pipelines.map(({ name }) => ({ name })),
    store: shown.store.replace(/\/\/.*@/, '//'),
  }
  const { dead_letter: deadLetter } = shown.logpush
  const logpush = { ...shown.logpush, ...(deadLetter !== undefined && { dead_letter: redact(deadLetter) }) }
  process.stdout.write(
    `${JSON.stringify({ ...shown, logpush, secrets: { key_file: secrets.key_file }, ...names }, null, 2)}\n`,
  )
}
