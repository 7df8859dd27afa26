'use strict';

// The scenarios: one file each, named in the order in which they run.

const fs = require('node:fs');
const path = require('node:path');

const FOLDER = path.join(__dirname, '..', 'scenarios');

/** @typedef {Record<string, number>} Figures by name; the name ends with the unit */

/**
 * @typedef {object} Contender
 * @property {() => Promise<Figures> | Figures} measure run in a separate process, in each round
 * @property {'22' | '24' | '26'} [node] the release of Node that it runs on; this one by default
 * @property {string[]} [flags] of Node
 * @property {() => string | undefined} [whyNot] the reason why it cannot run here
 * @property {number} [mostRounds] for what takes very long
 */

/**
 * That a figure is at most (at least) so much; with `per`, so many times the figure of another
 * contender in the same round.
 * @typedef {object} Goal
 * @property {string} figure
 * @property {string} of the contender
 * @property {string} [per] the other one
 * @property {string} [perFigure] of the other one, when it is not the same
 * @property {number} [atMost]
 * @property {number} [atLeast]
 */

/**
 * @typedef {object} Scenario
 * @property {number} goal  sorts the scenarios of the results; one number a topic
 * @property {string} title
 * @property {string} [note] what a reader of the results has to know
 * @property {'etcd' | 'postgres' | 'scale'} [group] measured only when it is asked for
 * @property {number} rounds
 * @property {Record<string, Contender>} contenders
 * @property {Goal[]} goals
 * @property {{ figure: string, title: string } | { sizes: number[], unit: string, title: string }}
 *   [chart] bars of a figure, or lines over sizes: the figures are named `${size} ${unit}`
 */

/** All of them. */
const allScenarioNames = () =>
  fs
    .readdirSync(FOLDER)
    .filter((file) => file.endsWith('.js'))
    .map((file) => path.basename(file, '.js'))
    .sort((a, b) => loadScenario(a).goal - loadScenario(b).goal);

/** The names of the scenarios of a group, or without a group. @param {Scenario['group']} [group] */
const scenarioNames = (group) =>
  allScenarioNames().filter((name) => loadScenario(name).group === group);

/**
 * @param {string} name
 * @returns {Scenario}
 */
const loadScenario = (name) => require(path.join(FOLDER, `${name}.js`));

module.exports = { allScenarioNames, loadScenario, scenarioNames };
