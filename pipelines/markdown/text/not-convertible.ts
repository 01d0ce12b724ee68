/** Error for a page that is invalid for its declared type. Its bytes should be passed on unchanged. */
export class NotConvertible extends Error {
  override readonly name = 'NotConvertible'
}
