import { loadConfig } from '../../config/load.js'
import { BadConfig } from '../../config/yaml.js'
import { systemClock } from '../../core/clock.js'
import { silentLog } from '../../core/log.js'
import { destinationChecks } from '../../daemon/pipelines/destinations.js'
import { CHECKS, otherDaemonOf, type Finding } from './checks.js'

/** Examines the machine for what the daemon of a configuration needs. */
export async function examine(file: string): Promise<Finding[]> {
  let config
  try {
    config = loadConfig(file, process.env, destinationChecks({ clock: systemClock, log: silentLog }))
  } catch (error) {
    if (!(error instanceof BadConfig)) throw error
    return error.message.split('\n').map((message) => ({ check: 'configuration', level: 'FAIL', message }))
  }
  const findings: Finding[] = [{ check: 'configuration', level: 'ok', message: `${file} can be used` }]
  const other = await otherDaemonOf(config, file)
  if (other !== undefined) return [...findings, { check: 'daemon', level: 'FAIL', message: other }]
  for (const [check, examineOne] of Object.entries(CHECKS))
    for (const found of await examineOne(config)) findings.push({ check, ...found })
  return findings
}
