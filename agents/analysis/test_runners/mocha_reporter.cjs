// Writes each test as a line of JSON beside itself, and what mocha's own reporter writes for people.
'use strict';
const fs = require('fs');
const path = require('path');
const { createRequire } = require('module');

function load() {
  try {
    return require.main.require('../lib/mocha');
  } catch {
    return createRequire(path.join(process.cwd(), 'any.js'))('mocha');
  }
}

const { reporters } = load();

module.exports = class Report extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const file = path.join(__dirname, 'mocha.json');
    const write = (line) => fs.appendFileSync(file, JSON.stringify(line) + '\n');
    const tell = (state) => (test) => write({ name: test.fullTitle(), state });
    fs.writeFileSync(file, '');
    runner.on('pass', tell('passed'));
    runner.on('fail', tell('failed'));
    runner.on('pending', tell('skipped'));
    runner.on('end', () => write({ ended: true }));
  }
};
