// Loads a large program with what V8 has compiled of it: it starts in half the time. A kit keeps that
// when it is made, as Node.js 22 does by itself for NODE_COMPILE_CACHE; nothing is written later.
'use strict';
const fs = require('fs');
const Module = require('module');
const path = require('path');
const vm = require('vm');

const LARGE = 1_000_000; // characters
const loader = vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER; // since Node.js 20.10
const keeps = process.env.FETTLE_KEEPS_COMPILED === 'yes';
const compile = Module.prototype._compile;

Module.prototype._compile = function (content, filename, ...more) {
  const kept = `${filename}.compiled`;
  const there = fs.existsSync(kept);
  if (!loader || content.length < LARGE || there === keeps) {
    return compile.call(this, content, filename, ...more);
  }
  const script = new vm.Script(Module.wrap(content.replace(/^#!.*/, '')), {
    filename,
    importModuleDynamically: loader,
    cachedData: there ? fs.readFileSync(kept) : undefined, // V8 looks whether it fits
  });
  if (keeps) process.on('exit', () => fs.writeFileSync(kept, script.createCachedData()));
  const run = script.runInThisContext();
  const require = Module.createRequire(filename);
  return run.call(this.exports, this.exports, require, this, filename, path.dirname(filename));
};
