import { BadConfig, readConfig } from '../../src/config/load.js'

export const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'
export const ZONE = '9f1839b6152d298aca64c4e906b6d074'
export const zone = (more = '') =>
  `accounts: [{ id: ${ACCOUNT}, name: A }]\nzones:\n  - id: ${ZONE}\n    account: ${ACCOUNT}\n    name: a.test\n    origin: http://127.0.0.1:1\n${more}`

/** Returns the lines of the error that a configuration file has; empty: none. */
export const faults = (text: string, environment = {}): string[] => {
  try {
    readConfig(text, 'f.yaml', environment)
  } catch (error) {
    if (error instanceof BadConfig) return error.message.split('\n')
    throw error
  }
  return []
}
