import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TransformModule } from '../../core/extension/record-transform.js'
import { GENERATION_FOLDER } from '../runtime/config.js'
import { transformConfig, TRANSFORM_SERVICE } from './config.js'

const MAX_START_MS = 5000

/**
 * Starts a module once, without records. Returns the reason if it cannot be a transform. The reason begins with the
 * name of a module, and its line and column if they are known.
 */
export function transformIssue(module: TransformModule, binary: string): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'edged-check-'))
  try {
    const file = join(folder, 'config.capnp')
    const text = transformConfig(module).text.replaceAll(GENERATION_FOLDER, folder)
    writeFileSync(file, text, { mode: 0o600 })
    const { status, signal, stderr, error } = spawnSync(binary, ['test', file], {
      cwd: folder,
      env: {},
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: MAX_START_MS,
      // A module in an endless loop ignores SIGTERM.
      killSignal: 'SIGKILL',
      maxBuffer: 2 ** 20,
      encoding: 'utf8',
    })
    if (status === 0) return undefined
    if (signal === 'SIGKILL' || error !== undefined)
      return `${module.main}: did not start within ${MAX_START_MS / 1000} s; only functions may do work`
    return reasonOf(stderr, module)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Returns the message of the runtime about the start of a module, in one line with the place first. */
export function reasonOf(stderr: string, { main }: Pick<TransformModule, 'main'>): string {
  const ours = /edged: (.*?) :edged/.exec(stderr)?.[1]
  if (ours !== undefined) return `${main}: ${ours}`
  const lines = stderr.split('\n')
  const at = lines.findIndex((line) => line.startsWith(`service ${TRANSFORM_SERVICE}: `))
  if (at < 0) return `${main}: cannot start: ${lines.find((line) => line.trim() !== '') ?? 'the runtime ended'}`
  const message = lines[at]!.slice(`service ${TRANSFORM_SERVICE}: `.length).replace(/^Uncaught (?:Error: )?/, '')
  const below = lines.slice(at + 1).find((line) => line.startsWith('  ')) ?? ''
  const place = /^ +at (?:.*\()?(?:\.\/)?((?!edged-)[^()]+:\d+:\d+)/.exec(below)?.[1]
  const importer = /^ +imported from "(?:\.\/)?(.+)"/.exec(below)?.[1]
  const isPackage = importer !== undefined && message.startsWith('No such module')
  const advice = isPackage ? '; a transform has no packages: bundle them to one file' : ''
  return `${place ?? importer ?? main}: ${message}${advice}`
}
