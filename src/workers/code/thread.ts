/** A thread that reads the code of one upload (see `reader.ts`). */
import { parentPort, workerData } from 'node:worker_threads'
import { UploadRefused } from '../upload-errors.js'
import type { UploadedFile } from '../upload/form.js'
import { analyse } from './analyse.js'
import type { CodeRead, CodeToRead } from './reader.js'

/** Between threads, a buffer becomes plain bytes. */
const whole = ({ bytes, ...file }: UploadedFile): UploadedFile => ({ ...file, bytes: Buffer.from(bytes) })

function read({ format, main, files }: CodeToRead): CodeRead {
  try {
    return { report: analyse(format, whole(main), files.map(whole)) }
  } catch (error) {
    if (error instanceof UploadRefused) return { issues: error.issues }
    throw error
  }
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- between threads there are no origins
parentPort?.postMessage(read(workerData as CodeToRead))
