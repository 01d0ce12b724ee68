/** What reading and changing log push asks for. */
export const READ = ['Logs Read', 'Logs Write'] as const
export const WRITE = ['Logs Write'] as const
