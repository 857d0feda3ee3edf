// Run several commands of npm, one after the other, in one process: loading npm takes longer than
// most of what it does. Each command has an npm of its own, with the settings that it would have
// alone. What does not succeed here is run again as anybody runs it, and that run counts.
// Told to stay, it takes such commands with their files by lines of its input, and answers by lines.
'use strict'
const fs = require('fs')
const os = require('os')
const path = require('path')
const readline = require('readline')
const { spawnSync } = require('child_process')

const [plan, least] = process.argv.slice(1)
const unprovided = Number(least)
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

function reset(home, folder) {
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
  const options = { stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 64 * 1024 * 1024 }
  return spawnSync('npm', step.args, { ...options, encoding: 'utf8', env: environment })
}

async function run(steps, home) {
  const done = { code: 0, output: '', gathered: {} }
  for (const step of steps) {
    reset(home, step.folder)
    let said = await tryHere(step)
    if (said === undefined) {
      reset(home, step.folder)
      const alone = runAlone(step)
      said = alone.stdout
      if (alone.status !== 0) {
        const output = `${done.output}${said || ''}${alone.stderr || ''}`
        return { ...done, code: alone.status || 1, output }
      }
    }
    if (step.tell) {
      const text = step.file ? fs.readFileSync(step.file, 'utf8') : said
      done.output += `FETTLE${JSON.stringify(new Function('t', `return ${step.tell}`)(text))}\n`
    }
    for (const [to, files] of Object.entries(step.gather)) {
      done.gathered[to] = files.map((each) => fs.readFileSync(path.join(home, each), 'utf8'))
    }
  }
  return done
}

async function answer({ steps, files, directory }) {
  const place = fs.mkdtempSync(path.join(os.tmpdir(), 'fettle-'))
  try {
    const tree = path.join(place, 'tree')
    for (const [name, text] of Object.entries({ [path.join(directory, '.')]: null, ...files })) {
      const at = path.join(tree, name)
      fs.mkdirSync(text === null ? at : path.dirname(at), { recursive: true })
      if (text !== null) fs.writeFileSync(at, text)
    }
    return await run(steps, path.join(tree, directory))
  } finally {
    process.chdir('/')
    fs.rmSync(place, { recursive: true, force: true })
  }
}

async function stay() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    write(`${JSON.stringify(await answer(JSON.parse(line)))}\n`)
  }
}

async function runOnce() {
  const done = await run(JSON.parse(plan), process.cwd())
  for (const [to, texts] of Object.entries(done.gathered)) {
    fs.writeFileSync(path.join(environment.tree, to), JSON.stringify(texts))
  }
  write(done.output)
  process.exitCode = done.code
}

;(plan === 'stay' ? stay() : runOnce()).then(() => process.exit())
