'use strict';

const { readProcessReport } = require('../../lib/process-report.js');

test('a report is made without the network, and the setting of the program stays', () => {
  const { report } = process;
  const settings = [];
  const getReport = jest.spyOn(report, 'getReport').mockImplementation(() => {
    settings.push(report.excludeNetwork);
    return { header: {} };
  });
  try {
    for (const setting of [false, true]) {
      report.excludeNetwork = setting;
      expect(readProcessReport()).toEqual({ header: {} });
      expect(report.excludeNetwork).toBe(setting);
    }
    expect(settings).toEqual([true, true]);
  } finally {
    report.excludeNetwork = false;
    getReport.mockRestore();
  }
});

test('it has the environment of the process', () => {
  expect(readProcessReport().environmentVariables.PATH).toBe(process.env.PATH);
});
