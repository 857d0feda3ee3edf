// Run several commands of npm, one after the other, in one process: loading npm takes longer than
// most of what it does. Each command has an npm of its own, with the settings that it would have
// alone. What does not succeed here is run again as anybody runs it, and that run counts.
'use strict'
const fs = require('fs')
const path = require('path')
const { spawnSync } = require('child_process')

const [plan, least] = process.argv.slice(1)
const steps = JSON.parse(plan)
const unprovided = Number(least)
const home = process.cwd()
const environment = { ...process.env }
const write = process.stdout.write.bind(process.stdout)

const loaded = load()
if (loaded.major < 7) {
  write('npm does not run, or is older than 7.\n')
  process.exit(unprovided)
}

function load() {
  const folders = (environment.PATH || '').split(path.delimiter)
  const found = folders.map((each) => path.join(each, 'npm')).find((each) => fs.existsSync(each))
  if (!found) return { major: 0 }
  const root = path.dirname(path.dirname(fs.realpathSync(found)))
  try {
    const about = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'))
    if (about.name !== 'npm') return { major: Infinity }
    const major = Number(about.version.split('.')[0])
    // Older ones hold what they were told in the process, not in an npm of their own.
    return { major, root, Npm: major >= 9 ? require(path.join(root, 'lib', 'npm.js')) : undefined }
  } catch {
    return { major: Infinity }
  }
}

function reset(folder) {
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name]
  Object.assign(process.env, environment) // npm tells its scripts its options by variables
  process.exitCode = undefined
  process.chdir(path.join(home, folder || '.'))
}

async function tryHere(step) {
  if (!loaded.Npm) return undefined
  const said = []
  const [out, err] = [process.stdout, process.stderr].map((each) => each.write)
  process.stdout.write = (text) => said.push(text) > 0
  process.stderr.write = () => true
  process.argv = [process.execPath, path.join(loaded.root, 'bin', 'npm-cli.js'), ...step.args]
  const npm = new loaded.Npm({ npmRoot: loaded.root })
  try {
    const { command, args } = await npm.load()
    await npm.exec(command, args)
    npm.unload()
    return process.exitCode ? undefined : said.join('')
  } catch {
    npm.unload()
    return undefined
  } finally {
    process.stdout.write = out
    process.stderr.write = err
  }
}

function runAlone(step) {
  const options = { stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 64 * 1024 * 1024 }
  const done = spawnSync('npm', step.args, { ...options, encoding: 'utf8', env: environment })
  if (done.status !== 0) {
    write(done.stdout || '')
    process.exit(done.status || 1)
  }
  return done.stdout
}

async function run() {
  for (const step of steps) {
    reset(step.folder)
    let said = await tryHere(step)
    if (said === undefined) {
      reset(step.folder)
      said = runAlone(step)
    }
    if (step.tell) {
      const text = step.file ? fs.readFileSync(step.file, 'utf8') : said
      write(`FETTLE${JSON.stringify(new Function('t', `return ${step.tell}`)(text))}\n`)
    }
    for (const [to, files] of Object.entries(step.gather)) {
      const texts = files.map((each) => fs.readFileSync(path.join(home, each), 'utf8'))
      fs.writeFileSync(path.join(environment.tree, to), JSON.stringify(texts))
    }
  }
}

run().then(() => process.exit(0))
