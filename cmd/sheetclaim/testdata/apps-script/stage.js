// Runs one function of an Apps Script file with stand-ins for the parts of Google's runtime that
// it uses. The stand-ins have what the script may use and no more: writing a cell's value, say, is
// a TypeError here. Scene as JSON on stdin, report as JSON on stdout.
'use strict';
const fs = require('node:fs');
const vm = require('node:vm');
const { MessageChannel, Worker, receiveMessageOnPort } = require('node:worker_threads');

const scene = JSON.parse(fs.readFileSync(0, 'utf8'));
const report = { toasts: [], notes: {}, calls: [], triggers: scene.triggers || [], menu: [], prompts: [], slept: 0, thrown: '' };
const properties = scene.properties || {};

// UrlFetchApp is synchronous: a worker makes the request while this thread stands still. The script
// knows the service by an https address, which leads to the service of the test.
const bell = new Int32Array(new SharedArrayBuffer(4));
const { port1: port, port2: far } = new MessageChannel();
new Worker(`
const { bell, port } = require('node:worker_threads').workerData;
port.on('message', async (o) => {
  let answer;
  try {
    const r = await fetch(o.url, { method: o.method, headers: o.headers, body: o.body, redirect: 'manual', signal: AbortSignal.timeout(o.timeout) });
    answer = { status: r.status, headers: Object.fromEntries(r.headers), text: await r.text() };
  } catch (e) {
    answer = { broken: e.name };
  }
  port.postMessage(answer);
  Atomics.add(bell, 0, 1);
  Atomics.notify(bell, 0);
});`, { eval: true, workerData: { bell, port: far }, transferList: [far] });

function request(ask) {
  const rung = Atomics.load(bell, 0);
  port.postMessage(ask);
  Atomics.wait(bell, 0, rung);
  return receiveMessageOnPort(port).message;
}

function fetchNow(url, options) {
  const known = ['method', 'headers', 'muteHttpExceptions', 'followRedirects', 'contentType', 'payload'];
  for (const name of Object.keys(options)) if (!known.includes(name)) throw new TypeError(`UrlFetchApp knows no option ${name}`);
  if (!url.startsWith(scene.address)) throw new Error(`a call to ${url}`);
  const headers = { ...options.headers };
  if (options.contentType) headers['Content-Type'] = options.contentType;
  const call = { url, method: options.method, headers, body: options.payload || '' };
  report.calls.push(call);
  const ask = { ...call, url: scene.service + url.slice(scene.address.length), body: options.payload, timeout: scene.timeout || 60000 };
  const answer = request(ask);
  call.status = answer.status || 0;
  if (answer.broken) throw new Error(`Address unavailable: ${url}`);
  if (answer.status >= 400 && !options.muteHttpExceptions) throw new Error(`Request failed for ${url} returned code ${answer.status}`);
  if (answer.status >= 300 && answer.status < 400 && options.followRedirects !== false) throw new Error('the token would have gone elsewhere');
  return { getResponseCode: () => answer.status, getContentText: () => answer.text, getHeaders: () => answer.headers };
}

function cell(tab, row, column) {
  return {
    getRow: () => row,
    getColumn: () => column,
    setNote: (text) => { report.notes[`${tab}!${row},${column}`] = text; },
  };
}

function tab(name) {
  const rows = (scene.tabs || {})[name];
  if (!rows) return null;
  return {
    createTextFinder: (text) => {
      let whole = false;
      const finder = {
        matchEntireCell: (yes) => { whole = yes; return finder; },
        findNext: () => {
          const fits = (value) => (whole ? value.toLowerCase() === text.toLowerCase() : value.toLowerCase().includes(text.toLowerCase()));
          for (let r = 0; r < rows.length; r++) for (let c = 0; c < rows[r].length; c++) if (fits(String(rows[r][c]))) return cell(name, r + 1, c + 1);
          return null;
        },
      };
      return finder;
    },
  };
}

const button = { OK: 'OK', CANCEL: 'CANCEL' };
const ui = {
  Button: button,
  ButtonSet: { OK_CANCEL: 'OK_CANCEL' },
  createMenu: () => {
    const menu = {
      addItem: (title, name) => { report.menu.push({ title, name }); return menu; },
      addSeparator: () => menu,
      addToUi: () => {},
    };
    return menu;
  },
  prompt: (_title, question) => {
    report.prompts.push(question);
    const text = (scene.answers || []).shift();
    return { getSelectedButton: () => (text === undefined ? button.CANCEL : button.OK), getResponseText: () => text };
  },
};
const spreadsheet = {
  toast: (text, title, seconds) => { report.toasts.push({ text, title, seconds }); },
  getSheetByName: tab,
};

// The script's clock goes on by what it asked to sleep; the test need not wait as long.
const speed = scene.speed === undefined ? 1 : scene.speed;
const runtime = {
  Date: class extends Date { static now() { return super.now() + report.slept * (1 - speed); } },
  UrlFetchApp: { fetch: fetchNow },
  PropertiesService: {
    getScriptProperties: () => ({
      getProperty: (name) => (name in properties ? properties[name] : null),
      setProperty: (name, value) => { properties[name] = String(value); },
    }),
  },
  SpreadsheetApp: { getUi: () => ui, getActive: () => spreadsheet },
  ScriptApp: {
    newTrigger: (name) => {
      const trigger = { name };
      const builder = {
        timeBased: () => builder,
        everyMinutes: (n) => {
          if (![1, 5, 10, 15, 30].includes(n)) throw new Error(`no trigger every ${n} minutes`);
          trigger.minutes = n;
          return builder;
        },
        forSpreadsheet: (s) => { if (s !== spreadsheet) throw new Error('another spreadsheet'); return builder; },
        onEdit: () => { trigger.on = 'edit'; return builder; },
        create: () => { report.triggers.push(trigger); return trigger; },
      };
      return builder;
    },
    getProjectTriggers: () => [...report.triggers],
    deleteTrigger: (trigger) => { report.triggers.splice(report.triggers.indexOf(trigger), 1); },
  },
  Utilities: {
    getUuid: () => require('node:crypto').randomUUID(),
    sleep: (ms) => { report.slept += ms; Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms * speed); },
  },
};

const event = scene.edit && {
  range: {
    getSheet: () => ({ getName: () => scene.edit.tab }),
    getRow: () => scene.edit.row,
    getColumn: () => scene.edit.column,
    getLastRow: () => scene.edit.row + (scene.edit.rows || 1) - 1,
    getLastColumn: () => scene.edit.column + (scene.edit.columns || 1) - 1,
  },
};
const context = vm.createContext(runtime);
vm.runInContext(fs.readFileSync(scene.script, 'utf8'), context, { filename: scene.script });
try {
  if (typeof context[scene.call] !== 'function') throw new TypeError(`the script has no function ${scene.call}`);
  context[scene.call](event);
} catch (e) {
  report.thrown = e.message;
}
report.properties = properties;
fs.writeSync(1, JSON.stringify(report));
process.exit();
