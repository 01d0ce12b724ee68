import { basename } from 'node:path'
import { messageOf } from '../core/errors.js'
import type { TransformModule } from '../core/extension/record-transform.js'
import { readTransform, type Transforms } from '../daemon/pipelines/transforms.js'

/**
 * Reads modules again at SIGHUP, and runs those whose code has changed. Returns how to end that. A terminal that is
 * closed sends this signal too, so a run in a terminal ends with it.
 */
export function renewAtHangup(
  modules: readonly TransformModule[],
  transforms: Transforms,
  tell: (message: string) => void,
): () => void {
  if (modules.length === 0 || process.stderr.isTTY) return () => {}
  const files = [...new Set(modules.map(({ file }) => file))]
  let turn = Promise.resolve()
  const renewAll = async (before: Promise<void>) => {
    await before
    for (const file of files) tell(await renewed(file, transforms))
  }
  const renew = () => void (turn = renewAll(turn))
  process.on('SIGHUP', renew)
  return () => process.off('SIGHUP', renew)
}

/** Resolves with what has become of a module, for the user. */
async function renewed(file: string, transforms: Transforms): Promise<string> {
  const name = basename(file)
  const module = readTransform(file)
  if (typeof module === 'string') return `${name} stays as it was: ${module}`
  try {
    return (await transforms.renew(module)) > 0 ? `${name} was read again and runs` : `${name} has not changed`
  } catch (error) {
    return `${name} stays as it was: ${messageOf(error)}`
  }
}
