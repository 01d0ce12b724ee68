import type { Binding } from '../../src/core/model/worker.js'
import { BINDINGS } from '../../src/workers/bindings/index.js'
import type { Fault } from '../../src/workers/fault.js'
import type { UploadedFile } from '../../src/workers/form.js'
import type { Metadata } from '../../src/workers/metadata/schema.js'
import { partNamed, type MainModule } from '../../src/workers/modules.js'

/** What is wrong with bindings to uploaded parts: they belong to service-worker scripts, and their part must be there. */
export function partFaults(
  bindings: readonly Binding[],
  { bindings: given = [] }: Metadata,
  { files, main }: { readonly files: readonly UploadedFile[]; readonly main: MainModule | undefined },
): Fault[] {
  return bindings.flatMap((binding): Fault[] => {
    const { part } = binding
    if (BINDINGS.get(binding.type)?.part === undefined || typeof part !== 'string') return []
    const index = given.findIndex(({ name }) => name === binding.name)
    const fault = (member: string, message: string): Fault[] => [
      { kind: 'invalidScript', message, ...(index >= 0 && { pointer: `/bindings/${index}/${member}` }) },
    ]
    if (main?.format !== 'service-worker')
      return fault('type', `${binding.type} belongs to service-worker scripts; modules import theirs`)
    return partNamed(part, files) ? [] : fault('part', `names ${JSON.stringify(part)}, which is no uploaded part`)
  })
}
