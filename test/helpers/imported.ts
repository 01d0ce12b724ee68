import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { importCaddy } from '../../src/commands/import/caddy/index.js'
import { importNginx } from '../../src/commands/import/nginx/index.js'
import { printed } from '../../src/commands/import/site/print.js'
import { Report } from '../../src/commands/import/site/report.js'
import { Files } from '../../src/commands/import/site/text-file.js'
import { testFolder } from './folder.js'

const FIXTURES = 'test/fixtures/import'
const TEXTS = /\.(conf|site|Caddyfile|caddy)$/

/** The server whose configuration is imported. */
export type Kind = 'caddy' | 'nginx'

/** An imported configuration, and the lines of the report. */
export interface Imported {
  readonly yaml: string
  readonly lines: readonly string[]
}

/** Imports a text. */
export function importText(kind: Kind, text: string, file = `FILE.${kind}`): Imported {
  const report = new Report()
  const read = kind === 'caddy' ? importCaddy : importNginx
  const yaml = printed(read(text, file, new Files(), report))
  return { yaml, lines: report.lines }
}

/** Imports a file. */
export const importFile = (kind: Kind, file: string): Imported => importText(kind, readFileSync(file, 'utf8'), file)

/** Values for the variables of the fixtures. */
export interface Values {
  readonly PORT: number
  readonly ORIGIN: number
  readonly ORIGIN2: number
}

/** Copies the fixtures of a server to a folder of the test with values for their variables, and returns the folder. */
export function fixtureFolder(t: Test, kind: Kind, values: Values): string {
  const folder = join(testFolder(t), kind)
  mkdirSync(folder)
  cpSync(join(FIXTURES, kind), folder, { recursive: true })
  cpSync(join(FIXTURES, 'site'), folder, { recursive: true })
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name)
    if (!entry.isFile() || !TEXTS.test(file)) continue
    const all: Readonly<Record<string, string>> = {
      ...Object.fromEntries(Object.entries(values).map(([key, value]) => [key, String(value)])),
      FOLDER: folder,
    }
    const text = readFileSync(file, 'utf8').replaceAll(
      /\$\{(PORT|ORIGIN|ORIGIN2|FOLDER)\}/g,
      (_, name: string) => all[name]!,
    )
    writeFileSync(file, text)
  }
  return folder
}

/** Returns the names of the configurations of a server. */
export const fixturesOf = (kind: Kind): string[] =>
  readdirSync(join(FIXTURES, kind))
    .filter((name) =>
      kind === 'caddy' ? name.endsWith('.Caddyfile') : name.endsWith('.conf') && name !== 'types.conf',
    )
    .toSorted()
