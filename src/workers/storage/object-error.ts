/** Reasons for failed operations on objects, with the status and the number that clients of R2 see. */
export const OBJECT_ERRORS = {
  noBucket: [404, 10006],
  noObject: [404, 10007],
  partTooSmall: [400, 10011],
  metadataTooLarge: [400, 10012],
  badKey: [400, 10020],
  tooMany: [429, 10022],
  badLimit: [400, 10022],
  noUpload: [400, 10024],
  badPart: [400, 10025],
  badArgument: [400, 10029],
  precondition: [412, 10031],
  badDigest: [400, 10037],
  badRange: [416, 10039],
  busy: [503, 10043],
  tooLarge: [413, 100100],
} as const
export type ObjectErrorName = keyof typeof OBJECT_ERRORS

/** An operation on objects that cannot be done. */
export class ObjectError extends Error {
  override readonly name = 'ObjectError'
  readonly kind: ObjectErrorName
  readonly status: number
  readonly code: number

  constructor(kind: ObjectErrorName, message: string) {
    super(message)
    this.kind = kind
    const [status, code] = OBJECT_ERRORS[kind]
    this.status = status
    this.code = code
  }
}
