/** Members of bindings that are sealed when stored and never shown, by type of the binding. */
export const SECRET_MEMBERS: ReadonlyMap<string, readonly string[]> = new Map([
  ['secret_text', ['text']],
  ['secret_key', ['key_base64', 'key_jwk']],
])
