/** A page that cannot be read as what it says it is. Its bytes are to be passed on as they came. */
export class NotConvertible extends Error {
  override readonly name = 'NotConvertible'
}
