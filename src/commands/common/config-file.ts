import { existsSync } from 'node:fs'
import { Exit } from './command.js'

/** Files that a daemon is usually started with, the first that exists. */
const USUAL_FILES = ['./edged.yaml', '/etc/edged/edged.yaml']

/** The files that a command reads without -c, for its help. */
export const DEFAULT_FILES = USUAL_FILES.join(', then ')

/** Returns the configuration file: the given one, else one of the usual. Throws {@link Exit} if there is none. */
export function configFile(given: string | undefined): string {
  const file = given ?? usualFile()
  if (file === undefined)
    throw new Exit(
      1,
      `neither ${USUAL_FILES.join(' nor ')} exists; name the file with -c, or write one with edged init`,
    )
  return file
}

/** Returns the configuration file that is used if none is given, undefined if there is none. */
export const usualFile = (): string | undefined => USUAL_FILES.find((path) => existsSync(path))
