/**
 * sheetclaim in the menu of a Google Sheet. Paste this under Extensions > Apps Script, fill in
 * the five names below, reload the sheet, and choose sheetclaim > Set up. README.md says more.
 *
 * The service does the work; this script asks for it and shows what became of it. It writes
 * into no cell: a result goes into a toast, and into the cell note of one header.
 *
 * @OnlyCurrentDoc
 */

const JOB = 'review-requests';      // the job in sheetclaim.yaml
const TAB = 'Visits';               // the tab of that job
const NOTE_HEADER = 'Note';         // the last result is shown as this header's cell note; '' for nowhere
const EDIT_HEADER = 'Visit status'; // an edit in this column asks for a run; '' for no column
const EVERY_MINUTES = 15;           // automatic runs: 1, 5, 10, 15 or 30

// Google ends a script after 6 minutes and a call after 60 seconds.
const PATIENCE_MS = 4 * 60 * 1000; // after that the run goes on, unwatched
const POLL_MS = 5000;
const TRIES = 3;

function onOpen() {
  SpreadsheetApp.getUi().createMenu('sheetclaim')
    .addItem('Send due rows', 'sendDueRows')
    .addItem('Show the last run', 'showLastRun')
    .addSeparator()
    .addItem('Set up', 'setUp')
    .addItem('Start automatic runs', 'startAutomaticRuns')
    .addItem('Stop automatic runs', 'stopAutomaticRuns')
    .addToUi();
}

/** The menu entry: starts a run and waits for its end, if that comes soon. */
function sendDueRows() {
  showWhatHappens_(() => {
    toast_('Asked. The result comes here in a moment; closing the sheet does no harm.', 10);
    return follow_(start_('click'));
  });
}

/** The menu entry for runs that took longer than a script may, or that a trigger started. */
function showLastRun() {
  showWhatHappens_(() => {
    const id = PropertiesService.getScriptProperties().getProperty('SHEETCLAIM_LAST_RUN');
    if (!id) throw new Error('This script has not asked for a run yet.');
    return follow_(call_('get', runPath_(id)));
  });
}

/** Asks for address and token, keeps them in the script properties, and tries them. */
function setUp() {
  const ui = SpreadsheetApp.getUi();
  const properties = PropertiesService.getScriptProperties();
  const questions = {
    SHEETCLAIM_URL: 'Address of the service, for example https://sheetclaim.example.com (empty: as before)',
    SHEETCLAIM_TOKEN: 'Its token, from api.tokens in sheetclaim.yaml (empty: as before)',
  };
  for (const name of Object.keys(questions)) {
    const answer = ui.prompt('sheetclaim', questions[name], ui.ButtonSet.OK_CANCEL);
    if (answer.getSelectedButton() !== ui.Button.OK) return;
    const text = answer.getResponseText().trim();
    if (text) properties.setProperty(name, text);
  }
  try {
    const jobs = call_('get', '/v1/jobs').jobs.map((job) => job.name);
    if (!jobs.includes(JOB)) throw new Error(`The service answers, but JOB in the script is ${JOB}, and this token is for: ${jobs.join(', ')}.`);
    toast_(`The service answers, and knows the job ${JOB}.`, 10);
  } catch (e) {
    toast_(e.message, -1);
  }
}

/** Makes the triggers of whoever calls it; they run under that person's name. */
function startAutomaticRuns() {
  stopAutomaticRuns();
  ScriptApp.newTrigger('onTick').timeBased().everyMinutes(EVERY_MINUTES).create();
  if (EDIT_HEADER) ScriptApp.newTrigger('onSheetEdit').forSpreadsheet(SpreadsheetApp.getActive()).onEdit().create();
  toast_(`Runs start every ${EVERY_MINUTES} minutes` + (EDIT_HEADER ? `, and when somebody edits ${EDIT_HEADER}.` : '.'), 10);
}

function stopAutomaticRuns() {
  for (const trigger of ScriptApp.getProjectTriggers()) ScriptApp.deleteTrigger(trigger);
}

/**
 * The time trigger. It asks and does not wait: waiting would use up the time that Google allows
 * triggers in a day. What goes wrong in the run is told by the service's own alerts; what goes
 * wrong in asking is thrown, so that Google mails it to the owner of the trigger.
 */
function onTick() {
  start_('tick');
}

/** The edit trigger. Scripts and the service itself do not set it off, only people do. */
function onSheetEdit(event) {
  const header = headerCell_(EDIT_HEADER);
  const edited = event.range;
  if (!header || edited.getSheet().getName() !== TAB || edited.getLastRow() <= header.getRow()) return;
  if (header.getColumn() < edited.getColumn() || header.getColumn() > edited.getLastColumn()) return;
  start_('edit');
  toast_('Asked for a run; the status column shows what becomes of the row.', 5);
}

/** Starts a run. Its name is made once: however often the request is sent, it is one run. */
function start_(why) {
  const id = `sheet-${why}-${Utilities.getUuid().slice(0, 13)}`;
  PropertiesService.getScriptProperties().setProperty('SHEETCLAIM_LAST_RUN', id);
  return call_('post', '/v1/runs', { job: JOB, run_id: id });
}

/** Looks again until the run has ended, in calls that are short. */
function follow_(run) {
  const until = Date.now() + PATIENCE_MS;
  while (run.state !== 'finished' && Date.now() < until) {
    Utilities.sleep(POLL_MS);
    run = call_('get', runPath_(run.run_id));
  }
  return run;
}

function runPath_(id) {
  return `/v1/runs/${encodeURIComponent(JOB)}/${encodeURIComponent(id)}`;
}

/** One request, sent again where that may help. Answers a document or throws a sentence. */
function call_(method, path, body) {
  for (let n = 1; ; n++) {
    const answer = fetch_(method, path, body);
    if (!answer.problem) return answer.document;
    if (!answer.retryAfter || n === TRIES) throw new Error(answer.problem);
    Utilities.sleep(Math.min(answer.retryAfter, 20) * 1000);
  }
}

function fetch_(method, path, body) {
  const properties = PropertiesService.getScriptProperties();
  const url = (properties.getProperty('SHEETCLAIM_URL') || '').replace(/\/+$/, '');
  const token = properties.getProperty('SHEETCLAIM_TOKEN');
  if (!url || !token) return { problem: 'The address or the token of the service is missing. Choose sheetclaim > Set up.' };
  if (!/^https:\/\/\S+$/.test(url)) return { problem: 'The address of the service must begin with https://, so that nobody on the way reads the token. Choose sheetclaim > Set up.' };
  const options = {
    method,
    headers: { Authorization: `Bearer ${token}`, Prefer: 'respond-async' },
    muteHttpExceptions: true,
    followRedirects: false, // the token is for this address alone
  };
  if (body) Object.assign(options, { contentType: 'application/json', payload: JSON.stringify(body) });
  let response;
  try {
    response = UrlFetchApp.fetch(url + path, options);
  } catch (e) {
    return { problem: `Google got no answer from the service (${e.message}). See that it runs and can be reached from the internet. If the request did arrive, the run goes on: choose "Show the last run".`, retryAfter: 5 };
  }
  return read_(response);
}

/** A run document is an answer whatever the status, since 409 and 502 carry one as well. Anything
 * else that says 200, in JSON or not, does not come from sheetclaim. */
function read_(response) {
  const status = response.getResponseCode();
  let document = null;
  try {
    document = JSON.parse(response.getContentText());
  } catch (e) {
    // A page of a proxy, perhaps.
  }
  if (document && (document.state || document.jobs)) return { document };
  const detail = document && document.detail ? ` The service says: ${document.detail}` : '';
  const answer = { problem: `${sentence_(status)} (status ${status})${detail}` };
  if (status === 429 || status >= 500) {
    const headers = response.getHeaders();
    answer.retryAfter = Number(headers['Retry-After'] || headers['retry-after']) || 5;
  }
  return answer;
}

function sentence_(status) {
  const sentences = {
    400: 'The service does not understand this request. Script and service may be of different versions.',
    401: 'The service does not know this token. Choose sheetclaim > Set up and paste it again.',
    403: 'This token may not do that. Compare JOB in the script with the jobs of the token in sheetclaim.yaml.',
    404: 'The service knows no such job, run or address. Compare JOB in the script, and the address in Set up, with the service. A run that it does not know sent nothing.',
    408: 'The request took too long on its way. Try again.',
    409: 'Something else is under way that excludes this. Look at the status column, and try again in a minute.',
    413: 'The request is too large for the service or for a proxy before it. Look at the limits of the proxy.',
    422: 'This run was asked for before with other settings. Choose "Send due rows" again.',
    429: 'There were too many requests. Wait some minutes.',
    503: 'The service is not ready. Wait a minute; if it stays so, look at its log.',
    504: 'A proxy gave up waiting for the service. A run that has begun goes on: choose "Show the last run".',
  };
  if (sentences[status]) return sentences[status];
  if (status >= 500) return 'The service, or a proxy before it, met a fault. A run that has begun goes on: choose "Show the last run", and look at the log of the service.';
  return 'What answers at this address is not sheetclaim, perhaps a login page. Compare the address in Set up with the service.';
}

/** Shows the run, or the error, that some work ends in. */
function showWhatHappens_(work) {
  let text, good = false;
  try {
    const run = work();
    text = describe_(run);
    good = ['sent', 'nothing_due', 'overlapped', 'dry_run'].includes(run.outcome);
  } catch (e) {
    text = e.message;
  }
  toast_(text.split('\n').slice(0, 3).join('\n'), good ? 15 : -1); // -1: until it is closed
  const cell = headerCell_(NOTE_HEADER);
  if (cell) cell.setNote(text);
}

/** A run in words: its sentence, then each row and doubt that wants a person. */
function describe_(run) {
  if (run.state !== 'finished') return `Run ${run.run_id} goes on in the service. The status column shows how far it is; "Show the last run" looks again.`;
  const lines = run.rows
    .filter((row) => ['failed', 'gave_up', 'rejected', 'unknown', 'skipped'].includes(row.outcome))
    .map((row) => `${row.key}: ${row.status || row.outcome}${row.reason ? ` (${row.reason})` : ''}`)
    .concat(run.doubts.map((doubt) => `${doubt.key || 'Doubt'}: ${doubt.detail}. ${doubt.advice}`));
  const shown = lines.slice(0, 20);
  if (lines.length > shown.length) shown.push(`and ${lines.length - shown.length} more`);
  return [`${run.outcome}: ${run.detail}`].concat(shown, `Run ${run.run_id}, ended ${run.finished_at}`).join('\n');
}

function toast_(text, seconds) {
  SpreadsheetApp.getActive().toast(text, 'sheetclaim', seconds);
}

/** The cell of a header in the job's tab, or null. */
function headerCell_(header) {
  const sheet = header && SpreadsheetApp.getActive().getSheetByName(TAB);
  return sheet ? sheet.createTextFinder(header).matchEntireCell(true).findNext() : null;
}
