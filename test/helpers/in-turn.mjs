// Loads the test files that EDGED_TEST_FILES names, one per line, one after the other in this process.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

for (const file of process.env['EDGED_TEST_FILES'].split('\n')) await import(pathToFileURL(resolve(file)).href)
