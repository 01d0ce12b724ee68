import { UploadRefused, type UploadIssue } from '../../../src/workers/upload-errors.js'
import { ApiError, ApiErrors } from '../../http/errors.js'

/** Does the work and converts its rejections to errors of the API. */
export async function withApiErrors<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof UploadRefused)) throw error
    const [first, ...rest] = error.issues.map(apiError)
    throw first ? new ApiErrors([first, ...rest]) : error
  }
}

const apiError = ({ kind, pointer, message, meta }: UploadIssue): ApiError =>
  new ApiError(kind, pointer, { message, ...(meta && { meta }) })
