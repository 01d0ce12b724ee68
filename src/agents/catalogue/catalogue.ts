import { readFileSync } from 'node:fs'
import { InvalidInput, messageOf, type Issue } from '../../core/errors.js'
import { parser } from '../../core/schema.js'
import { isNetwork } from '../addresses/networks.js'
import { BUILT_IN } from './built-in.js'
import { CatalogueFile, type AgentEntry } from './form.js'

/** The agents that are known, by name. */
export type Catalogue = ReadonlyMap<string, AgentEntry>

const byName = (entries: readonly AgentEntry[]): Map<string, AgentEntry> =>
  new Map(entries.map((entry) => [entry.name, entry]))

/** The agents that are part of edged. */
export const BUILT_IN_CATALOGUE: Catalogue = byName(BUILT_IN)

const parse = parser(CatalogueFile)

/** Returns the built-in agents with the entries of a file, which replace agents of the same name. Throws an Error that names the fault of the file. */
export function readCatalogue(file: string | null): Catalogue {
  return file === null ? BUILT_IN_CATALOGUE : catalogueOf(readFileSync(file, 'utf8'))
}

/** Returns the built-in agents with the entries of a JSON text. Throws an Error that names the fault. */
export function catalogueOf(text: string): Catalogue {
  let entries: readonly AgentEntry[]
  try {
    entries = parse(JSON.parse(text)).agents
    const issues = entries.flatMap(entryIssues)
    if (issues.length > 0) throw new InvalidInput(issues)
  } catch (error) {
    if (error instanceof InvalidInput)
      throw new Error(
        error.issues
          .map(({ pointer, message }) => `${pointer} ${message}`)
          .slice(0, 5)
          .join(', '),
        {
          cause: error,
        },
      )
    throw new Error(`is not JSON: ${messageOf(error)}`, { cause: error })
  }
  return new Map([...BUILT_IN_CATALOGUE, ...byName(entries.map(confirmed))])
}

/** Addresses, suffixes and directories that were not confirmed verify nobody. */
const confirmed = ({ verify, ...entry }: AgentEntry): AgentEntry =>
  verify === undefined || entry.source === 'check' ? entry : { ...entry, verify }

function entryIssues({ verify }: AgentEntry, at: number): Issue[] {
  return (verify?.cidrs ?? []).flatMap((cidr, index) =>
    isNetwork(cidr)
      ? []
      : [
          {
            pointer: `/agents/${at}/verify/cidrs/${index}`,
            message: 'must be an address or a network, as in 192.0.2.0/24',
          },
        ],
  )
}
