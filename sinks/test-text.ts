/** What the check of a destination writes. */
export const TEST_TEXT = '{"content":"tests"}'
