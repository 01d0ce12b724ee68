import { loadConfig } from '../config/load.js'
import { BadConfig } from '../config/yaml.js'
import { systemClock } from '../core/clock.js'
import { silentLog } from '../core/log.js'
import { destinationChecks } from '../daemon/destinations.js'
import { CHECKS, type Finding } from './doctor-checks.js'
import type { DefineCommand } from './command.js'

/** `edged doctor -c FILE`: what of this machine keeps the daemon from working well. */
export const doctor: DefineCommand = (command) => {
  command
    .requiredOption('-c, --config <file>', 'configuration file of the daemon')
    .option('--json', 'print an array of objects with check, level, message')
    .addHelpText(
      'after',
      '\nChecks the runtime version, the runtime of Workers, descriptors, clock, disk, Redis persistence, keys of secrets, the other\nmachines and ports. Changes nothing.' +
        '\nExit codes: 0 nothing failed, 1 a check failed or the configuration cannot be used.',
    )
    .action(async ({ config: file, json }: { config: string; json?: boolean }) => {
      const findings = await examine(file)
      for (const { check, level, message } of json ? [] : findings)
        process.stdout.write(`${level.padEnd(4)}  ${check.padEnd(13)}  ${message}\n`)
      if (json) process.stdout.write(`${JSON.stringify(findings)}\n`)
      process.exitCode = findings.some(({ level }) => level === 'FAIL') ? 1 : 0
    })
}

async function examine(file: string): Promise<Finding[]> {
  let config
  try {
    config = loadConfig(file, process.env, destinationChecks({ clock: systemClock, log: silentLog }))
  } catch (error) {
    if (!(error instanceof BadConfig)) throw error
    return error.message.split('\n').map((message) => ({ check: 'configuration', level: 'FAIL', message }))
  }
  const findings: Finding[] = [{ check: 'configuration', level: 'ok', message: `${file} can be used` }]
  for (const [check, examineOne] of Object.entries(CHECKS))
    for (const found of await examineOne(config)) findings.push({ check, ...found })
  return findings
}
