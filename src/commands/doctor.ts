import { BadConfig } from '../config/yaml.js'
import { loadPluginsOf } from '../plugins/load.js'
import { configFile, DEFAULT_FILES } from './common/config-file.js'
import type { DefineCommand } from './common/command.js'
import type { Finding } from './doctor/checks.js'

/** `edged doctor -c FILE`: what of this machine keeps the daemon from working well. */
export const doctor: DefineCommand = (command) => {
  command
    .option('-c, --config <file>', `configuration file of the daemon (default: ${DEFAULT_FILES})`)
    .option('--json', 'print an array of objects with check, level, message')
    .addHelpText(
      'after',
      '\nChecks the runtime version, the runtime of Workers, descriptors, clock, disk, Redis persistence, keys of secrets, the other\nmachines and ports. Changes nothing.' +
        '\nExit codes: 0 nothing failed, 1 a check failed or the configuration cannot be used.',
    )
    .action(async ({ config: file, json }: { config?: string; json?: boolean }) => {
      const findings = await findingsOf(configFile(file))
      for (const { check, level, message } of json ? [] : findings)
        process.stdout.write(`${level.padEnd(4)}  ${check.padEnd(13)}  ${message}\n`)
      if (json) process.stdout.write(`${JSON.stringify(findings)}\n`)
      process.exitCode = findings.some(({ level }) => level === 'FAIL') ? 1 : 0
    })
}

async function findingsOf(file: string): Promise<Finding[]> {
  try {
    await loadPluginsOf(file)
  } catch (error) {
    if (error instanceof BadConfig) return [{ check: 'plugins', level: 'FAIL', message: error.message }]
    throw error
  }
  const { examine } = await import('./doctor/findings.js')
  return await examine(file)
}
