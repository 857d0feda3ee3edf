// Writes each test that Node's own runner ends as a line of JSON: no built-in reporter names files.
// https://nodejs.org/api/test.html#custom-reporters

function judge(type, { details = {}, skip, todo }) {
  const error = details.error ?? {};
  const own = type === 'test:fail' && error.failureType !== 'subtestsFailed';
  if (skip !== undefined || todo !== undefined) return 'skipped';
  if (details.type === 'suite' && !own) return null;
  return own ? 'failed' : 'passed';
}

export default async function* report(events) {
  const above = [];
  for await (const { type, data } of events) {
    if (type === 'test:start') above[data.nesting] = data.name;
    const state = type === 'test:pass' || type === 'test:fail' ? judge(type, data) : null;
    if (state === null) continue;
    const names = [...above.slice(0, data.nesting), data.name];
    const file_itself = data.details?.error?.exitCode !== undefined;
    yield JSON.stringify({ file: data.file, name: names.join(' > '), state, file_itself }) + '\n';
  }
  yield JSON.stringify({ ended: true }) + '\n';
}
