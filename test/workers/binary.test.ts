import t from 'tap'
import { howToInstall } from '../../src/workers/runtime/binary.js'

const skip = !/^(linux|darwin)/.test(process.platform) && 'the runtime does not exist for this system'

t.test('the command that installs the runtime names the folder whose packages edged finds', { skip }, async (t) => {
  t.match(
    howToInstall('/srv/edged', '1.2.3'),
    /npm install --prefix \/srv\/edged --no-save @cloudflare\/workerd-\S+@1\.2\.3$/,
  )
  t.match(
    howToInstall('/home/a/.npm/_npx/1/node_modules/edged', '1.2.3'),
    /--prefix \/home\/a\/\.npm\/_npx\/1 --no-save/,
  )
  t.match(howToInstall('/usr/lib/node_modules/edged', '1.2.3'), /--global --prefix \/usr --no-save/)
})
