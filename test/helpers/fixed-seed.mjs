// Loaded before every test file: property tests use the same inputs on every run, so that the gate does not depend on
// chance. FUZZ_SEED=1234 uses others; FUZZ_SEED=random others each time.
import fc from 'fast-check'

const wanted = process.env.FUZZ_SEED ?? '20261121'
if (wanted !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(wanted) })
