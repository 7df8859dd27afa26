'use strict';

// The sources of each request, release and grant. In the delivered binaries they are optimised for
// speed, all others for size: two thirds of the code run once a process, or after a death.

const HOT_SOURCES = [
  'src/binding/agent_wrap.cc',
  'src/binding/js_values.cc',
  'src/binding/loop_hook.cc',
  'src/core/adaptive_spin.cc',
  'src/core/agent.cc',
  'src/core/agent_events.cc',
  'src/core/agent_kept.cc',
  'src/core/agent_operations.cc',
  'src/core/blocker_of.cc',
  'src/core/lock_manager.cc',
  'src/core/lock_manager_intake.cc',
  'src/core/operation_executor.cc',
  'src/core/operation_pool.cc',
  'src/core/os_host.cc',
  'src/core/peer_doorbells.cc',
  'src/core/record_event.cc',
  'src/core/request_record.cc',
  'src/core/shard_rules.cc',
  'src/core/shard_rules_kept.cc',
  'src/core/submit_request.cc',
  'src/core/wake_queue.cc',
  'src/segment/event_list.cc',
  'src/segment/intake.cc',
  'src/segment/kept_record.cc',
  'src/segment/lock_word.cc',
  'src/segment/name_table.cc',
  'src/segment/record_pool.cc',
  'src/segment/request_list.cc',
  'src/segment/resource_name.cc',
  'src/segment/segment.cc',
  'src/segment/shard_lock.cc',
  'src/segment/watch_ring.cc',
];

/** @param {string} source */
const isHot = (source) => HOT_SOURCES.includes(source);

module.exports = { HOT_SOURCES, isHot };
