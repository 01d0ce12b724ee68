import type { Binding } from '../../../src/core/model/worker.js'
import type { Runtime } from '../../../src/workers/runtime/runtime.js'
import type { ValidatedCode } from '../../../src/workers/runtime/validation.js'
import type { CodeReport } from '../../../src/workers/code/analyse.js'
import type { UploadedFile } from '../../../src/workers/upload/form.js'
import type { Metadata } from '../../../src/workers/metadata/schema.js'
import { contentEtag, isModule, mainModule, type MainModule } from '../../../src/workers/upload/modules.js'
import type { VersionDraft } from '../../../src/workers/script-repository.js'
import { ApiError } from '../../http/errors.js'
import type { WorkersServices } from './index.js'

/** The code of an upload, read and checked without its metadata. */
export interface PreparedCode {
  readonly files: readonly UploadedFile[]
  readonly main: MainModule | undefined
  readonly report: CodeReport
}

const NOTHING: CodeReport = { handlers: [], named: [], startup_time_ms: 0 }

/** Reads the code of an upload. Throws `scriptTooLarge` and UploadRefused. */
export async function prepareCode(
  engine: WorkersServices,
  metadata: Metadata,
  files: readonly UploadedFile[],
): Promise<PreparedCode> {
  const { module_bytes: max } = engine.limits().upload
  const main = mainModule(metadata, files)
  const size = files.filter(isModule).reduce((sum, { bytes }) => sum + bytes.length, 0)
  if (size > max) throw new ApiError('scriptTooLarge', undefined, `the modules have ${size} bytes, ${max} are allowed`)
  return { files, main, report: main ? await engine.code.analyse(main.format, main.main, files) : NOTHING }
}

/** Starts the code once if this server runs scripts. Throws UploadRefused if it does not start. */
export async function validated(
  runtime: Runtime | undefined,
  {
    code: { files, main, report },
    bindings,
    metadata,
  }: {
    readonly code: PreparedCode
    readonly bindings: readonly Binding[]
    readonly metadata: {
      readonly compatibility_date?: string | undefined
      readonly compatibility_flags?: readonly string[] | undefined
    }
  },
): Promise<ValidatedCode> {
  if (!runtime || !main || main.format === 'python') return { report, warnings: [] }
  return await runtime.validate({
    format: main.format,
    main: main.main,
    files,
    bindings,
    compatibilityDate: metadata.compatibility_date,
    compatibilityFlags: metadata.compatibility_flags ?? [],
    report,
  })
}

/** What of a version follows from its code. */
export function codeOf({
  files,
  main,
  report,
}: PreparedCode): Pick<VersionDraft, 'format' | 'main' | 'etag' | 'handlers' | 'named' | 'startup_time_ms'> {
  return {
    format: main?.format ?? 'modules',
    ...(main && { main: main.main.name }),
    etag: contentEtag(main?.main.name, files),
    ...report,
  }
}
