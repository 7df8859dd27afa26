'use strict';

const { IndexedHeap } = require('../../lib/scheduler/indexed-heap.js');

const item = (key) => ({ key, heapIndex: -1 });
const heapOf = (keys) => {
  const heap = new IndexedHeap((a, b) => a.key < b.key);
  const items = keys.map(item);
  for (const each of items) heap.add(each);
  return { heap, items };
};

function drain(heap) {
  const keys = [];
  while (heap.first !== undefined) {
    keys.push(heap.first.key);
    heap.remove(heap.first);
  }
  return keys;
}

test('gives its items in order', () => {
  const { heap } = heapOf([5, 1, 4, 1.5, 3, 2]);
  expect(heap.size).toBe(6);
  expect(drain(heap)).toEqual([1, 1.5, 2, 3, 4, 5]);
  expect(heap.first).toBeUndefined();
});

test('an item leaves from every place', () => {
  const keys = [7, 3, 9, 1, 5, 8, 2, 6, 4];
  for (const [index, key] of keys.entries()) {
    const { heap, items } = heapOf(keys);
    heap.remove(items[index]);
    expect(items[index].heapIndex).toBe(-1);
    const rest = keys.filter((other) => other !== key).sort((a, b) => a - b);
    expect(drain(heap)).toEqual(rest);
  }
});

test('an item whose key has changed finds its new place', () => {
  const keys = [7, 3, 9, 1, 5, 8, 2, 6, 4];
  for (const index of keys.keys()) {
    for (const key of [0, 5.5, 10]) {
      const { heap, items } = heapOf(keys);
      items[index].key = key;
      heap.update(items[index]);
      const expected = items.map((each) => each.key).sort((a, b) => a - b);
      expect(drain(heap)).toEqual(expected);
    }
  }
});

test('random steps agree with a sorted list', () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  let state = seed;
  const random = (limit) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return Math.floor((state / 0x80000000) * limit);
  };
  const { heap } = heapOf([]);
  const items = [];
  for (let step = 0; step < 3_000; step += 1) {
    const any = items[random(items.length)];
    const kind = random(5);
    if (kind < 2 || any === undefined) {
      const added = item(random(1_000));
      items.push(added);
      heap.add(added);
    } else if (kind < 4) {
      items.splice(items.indexOf(any), 1);
      heap.remove(any);
    } else {
      any.key = random(1_000);
      heap.update(any);
    }
    const min = items.length === 0 ? undefined : Math.min(...items.map(({ key }) => key));
    expect({ seed, step, min: heap.first?.key }).toEqual({ seed, step, min });
  }
});
