'use strict';

const { EntryList } = require('../../lib/backends/local/lock-table.js');

const entry = (id) => ({ id, list: null, previous: null, next: null });
const idsOf = (list) => [...list].map(({ id }) => id);

function listOf(...entries) {
  const list = new EntryList();
  for (const each of entries) list.append(each);
  return list;
}

test('an empty list has no first entry', () => {
  expect(listOf().first).toBeNull();
  expect(idsOf(listOf())).toEqual([]);
});

test('entries stay in the order in which they were appended', () => {
  expect(idsOf(listOf(entry(1), entry(2), entry(3)))).toEqual([1, 2, 3]);
});

test.each([0, 1, 2])('the entry at %i can be removed', (index) => {
  const entries = [entry(0), entry(1), entry(2)];
  const list = listOf(...entries);
  list.remove(entries[index]);
  const rest = [0, 1, 2].filter((id) => id !== index);
  expect(idsOf(list)).toEqual(rest);
  expect(entries[index]).toEqual(entry(index));
  list.append(entry(3));
  expect(idsOf(list)).toEqual([...rest, 3]);
});

test('a list that was emptied takes entries again', () => {
  const only = entry(1);
  const list = listOf(only);
  list.remove(only);
  expect(list.first).toBeNull();
  list.append(only);
  expect(idsOf(list)).toEqual([1]);
  expect(only.list).toBe(list);
});

test('a list knows how many entries it has', () => {
  const entries = [entry(0), entry(1)];
  const list = listOf(...entries);
  const sizes = [list.size];
  for (const each of entries) {
    list.remove(each);
    sizes.push(list.size);
  }
  expect(sizes).toEqual([2, 1, 0]);
});
